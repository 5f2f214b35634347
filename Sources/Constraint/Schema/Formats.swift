/// The enforced values of `format`, as patterns for whole strings.
enum Formats {
    enum Rule {
        /// `maximum`: characters.
        case pattern(String, maximum: Int?)
        /// Bounds of a number.
        case integers(Decimal, Decimal)
        /// Does not constrain the value.
        case annotation
    }

    /// - Returns: `nil` for an unknown format.
    static func rule(_ name: String) -> Rule? {
        switch name {
        case "int32": return .integers(Decimal(-0x8000_0000), Decimal(0x7fff_ffff))
        case "int64": return .integers(Decimal(.min), Decimal(.max))
        // OpenAPI's hints on display and storage.
        case "float", "double", "password", "byte", "binary", "utc-millisec", "color", "style": return .annotation
        case "hostname", "host-name": return patterns[name].map { .pattern($0, maximum: 253) }
        default: return patterns[name].map { .pattern($0, maximum: nil) }
        }
    }

    private static let patterns: [String: String] = [
        "hostname": hostname, "host-name": hostname,
        "date": date, "time": time, "date-time": "\(date)[Tt]\(time)", "duration": duration,
        "email": "(?:\(local)|\(quoted))@(?:\(hostname)|\\[\(ipv4)\\]|\\[IPv6:(?:\(ipv6))\\])",
        "idn-email": "(?:\(idnLocal)|\(quoted))@(?:\(idnHostname)|\\[\(ipv4)\\]|\\[IPv6:(?:\(ipv6))\\])",
        "ipv4": ipv4, "ip-address": ipv4, "ipv6": ipv6,
        "uuid": "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
        "uri": uri(""), "uri-reference": "\(uri(""))|\(relative(""))",
        "iri": uri(others), "iri-reference": "\(uri(others))|\(relative(others))", "uri-template": template,
        "json-pointer": pointer, "relative-json-pointer": "(?:0|[1-9][0-9]*)(?:#|\(pointer))",
    ].mapValues { "^(?:\($0))$" }

    private static let leapYear = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
    private static let date =
        "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
        + "|02-(?:0[1-9]|1[0-9]|2[0-8]))|\(leapYear)-02-29)"
    private static let time =
        "(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
        + "|23:59:60(?:\\.[0-9]+)?(?:[Zz]|[+-]00:00))"
    private static let clock = "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)"
    private static let duration =
        "P(?:[0-9]+W|(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)(?:\(clock))?|\(clock))"

    private static let label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    private static let hostname = "\(label)(?:\\.\(label))*"
    private static let idnLabel = "[A-Za-z0-9\(others)](?:[A-Za-z0-9\(others)-]{0,61}[A-Za-z0-9\(others)])?"
    private static let idnHostname = "\(idnLabel)(?:\\.\(idnLabel))*"
    private static let atext = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
    private static let local = "\(atext)(?:\\.\(atext))*"
    private static let idnAtext = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\(others)-]+"
    private static let idnLocal = "\(idnAtext)(?:\\.\(idnAtext))*"
    private static let quoted = "\"(?:[ !#-\\[\\]-~]|\\\\[ -~])*\""

    private static let octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
    private static let ipv4 = "(?:\(octet)\\.){3}\(octet)"
    private static let ipv6: String = {
        let group = "[0-9a-fA-F]{1,4}"
        let tail = "(?:\(group):\(group)|\(ipv4))"
        var forms = ["(?:\(group):){6}\(tail)", "::(?:\(group):){5}\(tail)"]
        for before in 0...4 {
            let head = before == 0 ? "(?:\(group))?" : "(?:(?:\(group):){0,\(before)}\(group))?"
            forms.append("\(head)::(?:\(group):){\(4 - before)}\(tail)")
        }
        forms.append("(?:(?:\(group):){0,5}\(group))?::\(group)")
        forms.append("(?:(?:\(group):){0,6}\(group))?::")
        return "(?:\(forms.joined(separator: "|")))"
    }()

    /// Characters beyond ASCII in an IRI, for a character class.
    private static let others =
        "\\u00a0-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef\\u{10000}-\\u{1fffd}\\u{20000}-\\u{2fffd}\\u{30000}-\\u{dfffd}\\u{e1000}-\\u{efffd}"

    private static let percent = "%[0-9A-Fa-f]{2}"
    private static func character(_ extra: String, _ others: String) -> String {
        "(?:[A-Za-z0-9._~!$&'()*+,;=\(extra)\(others)-]|\(percent))"
    }
    private static func authority(_ others: String) -> String {
        let literal = "\\[(?:\(ipv6)|[vV][0-9A-Fa-f]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]"
        return "(?:\(character(":", others))*@)?(?:\(literal)|\(character("", others))*)(?::[0-9]*)?"
    }
    private static func tail(_ others: String) -> String {
        let part = character(":@/?", others)
        return "(?:\\?\(part)*)?(?:#\(part)*)?"
    }
    private static func uri(_ others: String) -> String {
        let segment = character(":@", others)
        let path = "(?://\(authority(others))(?:/\(segment)*)*|/(?:\(segment)+(?:/\(segment)*)*)?"
        return "(?:[A-Za-z][A-Za-z0-9+.-]*:\(path)|(?:\(segment)+(?:/\(segment)*)*)?)\(tail(others)))"
    }
    private static func relative(_ others: String) -> String {
        let segment = character(":@", others)
        let first = character("@", others)
        let path = "(?://\(authority(others))(?:/\(segment)*)*|/(?:\(segment)+(?:/\(segment)*)*)?"
        return "(?:\(path)|(?:\(first)+(?:/\(segment)*)*)?)\(tail(others)))"
    }

    private static let template: String = {
        let name = "(?:[A-Za-z0-9_]|\(percent))(?:\\.?(?:[A-Za-z0-9_]|\(percent)))*"
        let spec = "\(name)(?::[1-9][0-9]{0,3}|\\*)?"
        let expression = "\\{[+#./;?&=,!@|]?\(spec)(?:,\(spec))*\\}"
        return "(?:[!#$&(-;=?-\\[\\]_a-z~\(others)]|\(percent)|\(expression))*"
    }()
    private static let pointer = "(?:/(?:[^~/]|~[01])*)*"
}
