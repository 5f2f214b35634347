/// `keep_alive` of Ollama's API: how long a model stays in memory after a request.
///
/// A number of seconds, or a text such as `"5m"` or `"1h30m"`.
package enum KeepAlive: Decodable, Sendable, Equatable {
    case forever
    case limited(Duration)

    package static let notAtAll = Self.limited(.zero)

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let seconds: Double?
        if let text = try? container.decode(String.self) {
            seconds = Self.seconds(text)
        } else {
            seconds = try container.decode(Double.self)
        }
        guard let seconds, seconds.isFinite else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "expected seconds, or a duration such as \"5m\" or \"1h30m\"")
        }
        // A hundred years.
        self = seconds < 0 || seconds > 3.2e9 ? .forever : .limited(.seconds(seconds))
    }

    /// Seconds of a duration as Go writes it, or of a number; `nil` for other texts.
    static func seconds(_ text: String) -> Double? {
        let isNegative = text.hasPrefix("-")
        let digits = isNegative || text.hasPrefix("+") ? text.dropFirst() : text[...]
        if !digits.isEmpty, digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }) {
            return Double(digits).map { isNegative ? -$0 : $0 }
        }
        var rest = digits
        var sum = 0.0
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let number = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            rest = rest.dropFirst(number.count)
            let unit = rest.prefix { !($0.isNumber || $0 == ".") }
            rest = rest.dropFirst(unit.count)
            guard let value = Double(number), let scale = scales[String(unit)] else { return nil }
            sum += value * scale
        }
        return isNegative ? -sum : sum
    }

    private static let scales = ["ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600]
}
