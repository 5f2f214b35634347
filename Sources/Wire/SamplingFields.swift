import JSON

/// The values that a request has for the fields of the table.
package struct SamplingFields: Decodable, Sendable {
    package enum Value: Sendable, Equatable {
        case number(Double)
        case count(Int64)
        case flag(Bool)
        case text(String)
        case texts([String])
        case tokens([Int64])
        case biases(LogitBias)
        case scales([AdapterScale])
    }

    /// In the request's order, by its names.
    private var values: [(name: String, value: Value)] = []
    /// Unsupported fields with an effect.
    private var refused: [String] = []

    /// All fields absent.
    package init() {}

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Name.self)
        for key in container.allKeys {
            guard let field = SamplingField.named(key.stringValue), try !container.decodeNil(forKey: key) else {
                continue
            }
            if case .unserved(let idle) = field.kind {
                if try !container.decode(JSON.self, forKey: key).isIdle(besides: idle) { refused.append(field.name) }
            } else {
                values.append((key.stringValue, try Value(field.kind, from: container.superDecoder(forKey: key))))
            }
        }
    }

    /// The value under a name, as the client spelled it.
    package func value(spelled name: String) -> Value? { values.first { $0.name == name }?.value }

    /// The value of a field: that of the first of its names that the request has; of stop texts, those of all names.
    package subscript(_ field: SamplingField) -> Value? {
        let values = field.names.compactMap { value(spelled: $0.name) }
        if case .stops = field.kind, values.count > 1 { return .texts(values.flatMap { $0.texts ?? [] }) }
        return values.first
    }

    /// The value of a field that has a whole number.
    package func count(_ name: String) -> Int64? {
        SamplingField.named(name).flatMap { self[$0]?.count }
    }

    /// Maximum number of tokens; `nil`: as many as fit.
    package var maximumTokens: Int64? { count("max_tokens").flatMap { $0 < 0 ? nil : $0 } }
    /// Maximum reasoning tokens; `nil`: no limit.
    package var maximumThoughts: Int64? { count("reasoning_budget").flatMap { $0 < 0 ? nil : $0 } }
    package var timesTokens: Bool { value(spelled: "timings_per_token") == .flag(true) }

    /// Checks what `Decodable` cannot. Errors name fields as the client spelled them.
    ///
    /// - Parameter served: Unsupported fields of the table that this route serves.
    func validate(serving served: Set<String>) throws(APIError) {
        for (name, value) in values {
            if let field = SamplingField.named(name) { try field.kind.check(value, of: name) }
        }
        if let name = refused.first(where: { !served.contains($0) }) {
            let condition = SamplingField.named(name)?.meaning ?? ""
            throw .unsupported(name, condition.isEmpty ? "it is" : "\(condition) it is")
        }
    }

    /// Checks a range that is narrower in one API.
    func check(_ name: String, _ range: ClosedRange<Int64>) throws(APIError) {
        if let value = value(spelled: name) { try SamplingField.Kind.count(range).check(value, of: name) }
    }

    /// Checks a range that is narrower in one API.
    func check(_ name: String, _ range: ClosedRange<Double>) throws(APIError) {
        if let value = value(spelled: name) { try SamplingField.Kind.number(range).check(value, of: name) }
    }

    /// Refuses reasoning budgets, for endpoints whose answers are not parsed.
    func checkNoThinkingBudget() throws(APIError) {
        guard maximumThoughts != nil, let field = SamplingField.named("reasoning_budget") else { return }
        throw .unsupported(field.names.first { value(spelled: $0.name) != nil }?.name ?? field.name)
    }
}

extension SamplingFields.Value {
    package var number: Double? { if case .number(let value) = self { value } else { nil } }
    package var count: Int64? { if case .count(let value) = self { value } else { nil } }
    package var flag: Bool? { if case .flag(let value) = self { value } else { nil } }
    package var text: String? { if case .text(let value) = self { value } else { nil } }
    package var texts: [String]? { if case .texts(let value) = self { value } else { nil } }
    package var tokens: [Int64]? { if case .tokens(let value) = self { value } else { nil } }
    package var biases: LogitBias? { if case .biases(let value) = self { value } else { nil } }
    package var scales: [AdapterScale]? { if case .scales(let value) = self { value } else { nil } }

    fileprivate init(_ kind: SamplingField.Kind, from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        switch kind {
        case .number: self = .number(try container.decode(Double.self))
        case .count: self = .count(try container.decode(WholeNumber.self).value)
        case .flag: self = .flag(try container.decode(Bool.self))
        case .text: self = .text(try container.decode(String.self))
        case .texts: self = .texts(try container.decode([String].self))
        case .stops: self = .texts(try container.decode(OneOrMany<String>.self).elements)
        case .tokens: self = .tokens(try container.decode([WholeNumber].self).map(\.value))
        case .biases: self = .biases(try container.decode(LogitBias.self))
        case .scales: self = .scales(try container.decode([AdapterScale].self))
        case .unserved: preconditionFailure("a field that is not served has no value")
        }
    }
}

extension SamplingField.Kind {
    /// - Parameter name: The field as the client spelled it.
    fileprivate func check(_ value: SamplingFields.Value, of name: String) throws(APIError) {
        switch (self, value) {
        case (.number(let range), .number(let number)): try checkRange(name, number, range)
        case (.count(let range), .count(let count)): try checkRange(name, count, range)
        case (.text(let range), .text(let text)):
            guard !range.contains(text.utf8.count) else { break }
            throw .invalid(
                name, "expected \(range.lowerBound) to \(range.upperBound) bytes, got \(text.utf8.count)")
        case (.texts(let maximum), .texts(let texts)): try checkCount(name, texts.count, maximum)
        case (.stops(let maximum), .texts(let texts)):
            try checkCount(name, texts.count, maximum)
            if texts.contains("") { throw .invalid(name, "a stop string must not be empty") }
        case (.tokens(let maximum), .tokens(let tokens)): try checkCount(name, tokens.count, maximum)
        case (.biases(let range), .biases(let biases)): try biases.validate(at: name, range)
        case (.scales, .scales(let scales)): try scales.validate(at: name)
        default: break
        }
    }

    private func checkCount(_ name: String, _ count: Int, _ maximum: Int) throws(APIError) {
        guard count > maximum else { return }
        throw .invalid(name, "at most \(maximum) are allowed, got \(count)")
    }
}

extension JSON {
    /// Whether the value has no effect.
    fileprivate func isIdle(besides idle: [JSON]) -> Bool {
        // For fields whose default is true, false has an effect.
        if self == .bool(false), !idle.contains(.bool(true)) { return true }
        return isEmpty || idle.contains { $0 == self || $0.double.map { $0 == double } == true }
    }
}
