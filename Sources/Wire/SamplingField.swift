package import JSON

/// A field of requests that says how tokens are chosen, when an answer ends, or what is reported beside it.
///
/// Requests are decoded and validated by the table of these fields (`all`). `SamplingBinding` says what each one sets in
/// the engine's options. Tests compare docs/api.md and the settings of the chat page with the table.
package struct SamplingField: Sendable {
    /// The API that a name comes from.
    package enum API: String, Sendable, CaseIterable {
        case openAI = "OpenAI"
        case anthropic = "Anthropic"
        case vLLM
        case llama = "llama.cpp"
        case ollama = "Ollama"
        case qwen = "Qwen"
    }

    package typealias Name = (name: String, api: API)

    package enum Kind: Sendable {
        case number(ClosedRange<Double>)
        /// A whole number.
        case count(ClosedRange<Int64>)
        case flag
        case text(bytes: ClosedRange<Int>)
        case texts(maximum: Int)
        /// One text or a list, none of them empty.
        case stops(maximum: Int)
        case tokens(maximum: Int)
        case biases(ClosedRange<Double>)
        /// Scales of adapters.
        case scales
        /// Not supported. These values, null, false and empty ones have no effect and are allowed.
        case unserved(idle: [JSON])
    }

    /// If several are in a request, the first of them counts.
    package let names: [Name]
    package let kind: Kind
    /// Value of a request without the field, unless the model's file recommends another one.
    package let standard: JSON?
    package let meaning: String
    /// Label on the chat page; `nil`: the field is not among its settings.
    package let label: String?
    /// Whether the chat page has the field among those that are folded at first.
    package let isFolded: Bool
    /// Whether the field has no effect on the answer, so that other servers need not be told.
    package let isOwn: Bool

    init(
        _ names: Name..., kind: Kind, standard: JSON? = nil, label: String? = nil, isFolded: Bool = false,
        isOwn: Bool = false, _ meaning: String
    ) {
        (self.names, self.kind, self.standard, self.meaning) = (names, kind, standard, meaning)
        (self.label, self.isFolded, self.isOwn) = (label, isFolded, isOwn)
    }

    /// Its first name.
    package var name: String { names[0].name }

    package func name(in api: API) -> String? { names.first { $0.api == api }?.name }

    package var isServed: Bool { if case .unserved = kind { false } else { true } }

    /// The field that a name means.
    package static func named(_ name: String) -> SamplingField? { byName[name].map { all[$0] } }

    private static let byName: [String: Int] = {
        let entries = all.enumerated().flatMap { index, field in field.names.map { ($0.name, index) } }
        return Dictionary(uniqueKeysWithValues: entries)
    }()
}

extension SamplingField.Kind {
    /// Type and range, for documentation.
    package var text: String {
        switch self {
        case .number(let range):
            range.upperBound >= 1e6
                ? "number, at least \(short(range.lowerBound))"
                : "number, \(short(range.lowerBound)) to \(short(range.upperBound))"
        case .count(let range):
            range.lowerBound == .min
                ? "whole number"
                : range.upperBound >= Int64(Int32.max)
                    ? "whole number, at least \(range.lowerBound)"
                    : "whole number, \(range.lowerBound) to \(range.upperBound)"
        case .flag: "true or false"
        case .text(let bytes): "text of \(bytes.lowerBound) to \(bytes.upperBound) bytes"
        case .texts(let maximum): "list of up to \(maximum) texts"
        case .stops(let maximum): "text, or list of up to \(maximum)"
        case .tokens(let maximum): "list of up to \(maximum) token ids"
        case .biases(let range):
            "object or list of pairs: token id or text, and \(short(range.lowerBound)) to \(short(range.upperBound))"
        case .scales: "list of objects with `id` and `scale`"
        case .unserved: ""
        }
    }
}

/// Formats whole numbers as `2` instead of `2.0`.
func short(_ value: Double) -> String { Int(exactly: value).map { "\($0)" } ?? "\(value)" }
