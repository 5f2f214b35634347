/// A text put together from parts: a `Prompt` or `Instructions`.
public protocol ComposedText: Sendable {
    init(parts: [String])
    var parts: [String] { get }
}

extension ComposedText {
    /// The parts, one a line.
    var text: String { parts.joined(separator: "\n") }
}

/// What the builders of prompts and of instructions have in common.
public protocol TextBuilder {
    associatedtype Output: ComposedText
}

extension TextBuilder {
    public static func buildBlock(_ components: Output...) -> Output { joined(components) }
    public static func buildArray(_ components: [Output]) -> Output { joined(components) }
    public static func buildEither(first component: Output) -> Output { component }
    public static func buildEither(second component: Output) -> Output { component }
    public static func buildOptional(_ component: Output?) -> Output { component ?? Output(parts: []) }
    public static func buildLimitedAvailability(_ component: Output) -> Output { component }

    private static func joined(_ components: [Output]) -> Output { Output(parts: components.flatMap(\.parts)) }
}
