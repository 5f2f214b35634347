import Foundation
import Template

/// Derives the notation of calls from renderings of the template.
struct CallDerivation {
    private let probe: Probe
    private let turn: Turn
    private let dialect: Dialect
    private let source: String
    /// The assistant's turn with one call, and below with two.
    private let one: Bytes?
    private let two: Bytes?

    init(_ probe: Probe, _ turn: Turn, _ dialect: Dialect, _ source: String) {
        self.probe = probe
        self.turn = turn
        self.dialect = dialect
        self.source = source
        one = turn.call?[turn.start...]
        let text = probe.render(probe.message(calls: [Probe.call1, Probe.call2]))
        two = text.flatMap { $0.contains(Probe.name2) ? Array($0.utf8)[turn.start...] : nil }
    }

    func syntax() -> CallSyntax? {
        guard var syntax = form() else { return nil }
        addBeginning(&syntax)
        return syntax
    }

    /// Records the exact text before a call's name and arguments, since its pieces lack white space.
    private func addBeginning(_ syntax: inout CallSyntax) {
        guard let one, let name = one.place(of: Probe.name1) else { return }
        var start = name
        if let first = (syntax.open + syntax.each).first, case .text(let text) = first {
            start = one.place(of: text) ?? name
        } else if case .object = syntax.body, let range = jsonRange(one, containing: Probe.name1, from: one.startIndex)
        {
            start = range.lowerBound
        }
        guard start <= name else { return }
        syntax.beforeName = one[start..<name].text.replacing(Probe.id1, with: "call00001")
        let after = name + Probe.name1.utf8.count
        guard let key = one.place(of: Probe.key1, from: after) else { return }
        var end = jsonRange(one, containing: Probe.key1, from: after)?.lowerBound ?? key
        if case .header(_, .tagged(let tags)) = syntax.body { end = key - tags.keyOpen.utf8.count }
        if case .header(_, .quoted) = syntax.body { end = key - 1 }
        if let id = one.place(of: Probe.id1, from: after), id < end { end = id }
        if end >= after { syntax.afterName = one[after..<end].text }
    }

    private func form() -> CallSyntax? {
        guard let one, let name = one.place(of: Probe.name1), one.contains(Probe.key1) else { return nil }
        if let range = jsonRange(one, containing: Probe.name1, from: one.startIndex), one[range].contains(Probe.key1) {
            return object(one, range)
        }
        if let range = jsonRange(one, containing: Probe.key1, from: name) {
            let header = piecesOf(one[..<range.lowerBound])
            return around(.header([], .json), header) { text, key, start in
                jsonRange(text, containing: key, from: start)
            }
        }
        guard let key = one.place(of: Probe.key1, from: name), let value = one.place(of: Probe.value1, from: key)
        else { return nil }
        let between = trimmed(one[(key + Probe.key1.utf8.count)..<value])
        switch one[key - 1] {
        case UInt8(ascii: "("): return pythonic(one, name)
        case UInt8(ascii: "{") where between.hasPrefix(":"):
            let quote = between.dropFirst().trimmingCharacters(in: .whitespaces)
            return around(.header([], .quoted(quote)), piecesOf(one[..<(key - 1)])) { text, key, start in
                guard let place = text.place(of: key, from: start), let end = text.place(of: "}", from: place) else {
                    return nil
                }
                return (place - 1)..<(end + 1)
            }
        default: return tagged(one, name, key, value)
        }
    }

    // MARK: Notations

    private func object(_ one: Bytes, _ range: Range<Int>) -> CallSyntax? {
        guard let value = try? TemplateValue(json: Data(one[range])) else { return nil }
        var keys = ObjectKeys()
        let isArray = one[range.lowerBound] == UInt8(ascii: "[")
        if case .array(let items) = value, case .object(let object)? = items.first {
            Self.read(object, &keys)
        } else if case .object(let object) = value {
            Self.read(object, &keys)
        }
        let body = CallSyntax.Body.object(keys)
        if isArray {
            var syntax = CallSyntax(open: piecesOf(one[..<range.lowerBound]), body: body)
            syntax.close = closers(one[range.upperBound...])
            return syntax
        }
        return around(body, piecesOf(one[..<range.lowerBound])) { text, _, start in
            jsonRange(text, containing: start == text.startIndex ? Probe.name1 : Probe.name2, from: start)
        }
    }

    private static func read(_ object: TemplateObject, _ keys: inout ObjectKeys) {
        for (key, value) in object.entries {
            switch value {
            case .string(Probe.name1): keys.name = key
            case .object(let inner) where key == Probe.name1 && inner[Probe.key1] != nil: keys.nameIsKey = true
            case .object(let inner) where inner[Probe.key1] != nil: keys.arguments = key
            case .object(let inner):
                keys.wrapper = key
                read(inner, &keys)
            case .string where key.lowercased().contains("id"): keys.id = key
            default: break
            }
        }
    }

    private func pythonic(_ one: Bytes, _ name: Int) -> CallSyntax? {
        guard one[..<name].last == UInt8(ascii: "["), let end = one.place(of: "]", from: name) else { return nil }
        var syntax = CallSyntax(open: piecesOf(one[..<(name - 1)]), body: .pythonic)
        syntax.close = closers(one[(end + 1)...])
        return syntax
    }

    private func tagged(_ one: Bytes, _ name: Int, _ key: Int, _ value: Int) -> CallSyntax? {
        var tags = ArgumentTags()
        let afterKey = one[(key + Probe.key1.utf8.count)..<value]
        tags.beforeValue = trailingSpace(afterKey)
        tags.afterKey = String(afterKey.text.dropLast(tags.beforeValue.count))
        let valueEnd = value + Probe.value1.utf8.count
        guard let pair = pair(name) else { return nil }
        // `afterValue` is the common text after the value in calls with two arguments and with one.
        let shared = commonPrefix(pair.between, one[valueEnd...])
        var close = shared[...]
        if let again = close.place(of: Probe.key1) {
            tags.afterClosingKey = pieces(close[(again + Probe.key1.utf8.count)...]).first.map { tag in
                // Cut after the tag's bracket.
                tag.firstIndex(of: ">").map { String(tag[...$0]) } ?? tag
            }
            close = close[..<again]
            tags.afterValue = leadingSpace(close)
            tags.valueClose = trimmed(close)
        } else {
            tags.afterValue = leadingSpace(close)
            tags.valueClose = wholeTags(close)
        }
        guard !tags.valueClose.isEmpty else { return nil }
        var rest = pair.between.dropFirst(tags.afterValue.utf8.count + tags.valueClose.utf8.count)
        if let after = tags.afterClosingKey { rest = rest.dropFirst(Probe.key1.utf8.count + after.utf8.count) }
        tags.keyOpen = trimmed(rest)
        guard !tags.keyOpen.isEmpty, let header = one[..<key].text.range(of: tags.keyOpen, options: .backwards) else {
            return nil
        }
        tags.afterKeyOfJSON = formsOfJSON(tags)
        tags.mayBeCDATA = source.contains("<![CDATA[")
        let lead = Array(one[..<key].text[..<header.lowerBound].utf8)
        let closing = tags.afterClosingKey.map { tags.valueClose + Probe.key1 + $0 } ?? tags.valueClose
        return around(.header([], .tagged(tags)), piecesOf(lead[...])) { text, key, start in
            guard let place = text.place(of: tags.keyOpen + key, from: start) else { return nil }
            let close = closing.replacing(Probe.key1, with: key)
            guard let end = text.place(of: close, from: place) else { return nil }
            return place..<(end + close.utf8.count)
        }
    }

    /// The text between the values of a call's two arguments, up to the second key.
    private func pair(_ name: Int) -> (between: Bytes, Void)? {
        var call = Probe.call1
        call.arguments[Probe.key2] = .string(Probe.value2)
        guard let text = probe.render(probe.message(calls: [call])).map({ Array($0.utf8) }),
            let value = text.place(of: Probe.value1, from: turn.start),
            let key = text.place(of: Probe.key2, from: value)
        else { return nil }
        return (text[(value + Probe.value1.utf8.count)..<key], ())
    }

    /// The whole tags at the beginning of a text, without surrounding white space; all of it if there are none.
    private func wholeTags(_ text: Bytes) -> String {
        let text = trim(Array(text))
        guard text.contains(UInt8(ascii: ">")) else { return text.text }
        return pieces(text).first { $0.hasSuffix(">") || !$0.contains("<") } ?? ""
    }

    /// The text between the key and non-string values, if it differs from that before strings.
    private func formsOfJSON(_ tags: ArgumentTags) -> [String] {
        let values: [(TemplateValue, String)] = [
            (.int(70707), "70707"), (.bool(true), "true"), (.none, "null"), (.object([Probe.key2: .int(1)]), "{"),
            (.array([.int(1)]), "["),
        ]
        var forms: [String] = []
        for (value, written) in values {
            var call = Probe.call1
            call.arguments[Probe.key1] = value
            guard let text = probe.render(probe.message(calls: [call])).map({ Array($0.utf8) }),
                let key = text.place(of: tags.keyOpen + Probe.key1, from: turn.start)
            else { continue }
            let after = key + (tags.keyOpen + Probe.key1).utf8.count
            // The text can be only slightly longer than before strings, so the value begins nearby.
            guard let place = text[after...].prefix(tags.afterKey.utf8.count + 24).place(of: written) else { continue }
            let form = text[after..<place].text
            let trimmedForm = String(form.dropLast(tags.beforeValue.count))
            if trimmedForm != tags.afterKey, !forms.contains(trimmedForm),
                form.hasSuffix(String(tags.afterKey.suffix(1)))
            {
                forms.append(trimmedForm)
            }
        }
        return forms
    }

    // MARK: Around calls

    /// Separates the markers around each call from those around all calls.
    ///
    /// - Parameters:
    ///   - lead: The text before the arguments, or before the object, of the only call.
    ///   - range: Finds the arguments with a key, or the object, from a place on.
    private func around(
        _ body: CallSyntax.Body, _ lead: [CallSyntax.Element], _ range: (Bytes, String, Int) -> Range<Int>?
    ) -> CallSyntax? {
        guard let one, let only = range(one, Probe.key1, one.startIndex) else { return nil }
        var syntax = CallSyntax(body: body)
        var header: [CallSyntax.Element] = []
        /// Splits a call's markers at the name: those before it may belong to the section.
        func split(_ pieces: [CallSyntax.Element]) -> (before: [CallSyntax.Element], header: [CallSyntax.Element]) {
            guard case .header = body, let name = pieces.firstIndex(where: { $0 == .name || $0 == .id }) else {
                return (pieces, [])
            }
            return (Array(pieces[..<name]), Array(pieces[name...]))
        }
        if let two, let first = range(two, Probe.key1, two.startIndex),
            let second = range(two, Probe.key2, first.upperBound)
        {
            let (before, firstHeader) = split(piecesOf(two[..<first.lowerBound]))
            let (between, _) = split(piecesOf(two[first.upperBound..<second.lowerBound]))
            let after = closers(two[second.upperBound...])
            syntax.each = commonSuffix(before, between)
            syntax.open = Array(before.dropLast(syntax.each.count))
            let rest = Array(between.dropLast(syntax.each.count))
            syntax.eachClose = commonPrefix(rest, after)
            syntax.separator = Array(rest.dropFirst(syntax.eachClose.count))
            syntax.close = Array(after.dropFirst(syntax.eachClose.count))
            header = firstHeader
        } else {
            (syntax.each, header) = split(lead)
            syntax.close = closers(one[only.upperBound...])
            syntax.allowsSeveral = false
        }
        if case .header(_, let arguments) = body { syntax.body = .header(header, arguments) }
        return syntax
    }

    private func closers(_ text: Bytes) -> [CallSyntax.Element] {
        let end = dialect.turnEnd.first.flatMap { text.place(of: $0) }
        return pieces(text[..<(end ?? text.endIndex)]).map(CallSyntax.Element.text)
    }

    /// Text before a call as pieces: without markers of reasoning and content, with placeholders for name, identifier
    /// and number.
    private func piecesOf(_ bytes: Bytes) -> [CallSyntax.Element] {
        var text = bytes.text
        for marker in [dialect.thoughts.open, dialect.thoughts.close, dialect.contentOpen, dialect.contentClose]
        where !marker.isEmpty { text = text.replacing(marker, with: " ") }
        var result: [CallSyntax.Element] = []
        var hasName = false
        for part in pieces(text.utf8) {
            var rest = part[...]
            while !rest.isEmpty {
                let found: [(Range<Substring.Index>, CallSyntax.Element)] =
                    [(Probe.name1, .name), (Probe.name2, .name), (Probe.id1, .id), (Probe.id2, .id)]
                    .compactMap { (text, piece) in rest.range(of: text).map { ($0, piece) } }
                let next = found.min { $0.0.lowerBound < $1.0.lowerBound }
                Self.append(rest[..<(next?.0.lowerBound ?? rest.endIndex)], numbers: hasName, &result)
                guard let next else { break }
                result.append(next.1)
                if next.1 == .name { hasName = true }
                rest = rest[next.0.upperBound...]
            }
        }
        return result
    }

    /// - Parameter numbers: Whether digits are the call's number, as they are after its name.
    private static func append(_ text: Substring, numbers: Bool, _ result: inout [CallSyntax.Element]) {
        var rest = text
        while numbers, let range = rest.firstRange(of: #/[0-9]+/#) {
            if range.lowerBound > rest.startIndex { result.append(.text(String(rest[..<range.lowerBound]))) }
            result.append(.number)
            rest = rest[range.upperBound...]
        }
        if !rest.isEmpty { result.append(.text(String(rest))) }
    }
}
