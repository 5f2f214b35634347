/// Something built from parts: a `Prompt` or `Instructions`.
public protocol ComposedText: Sendable {
    associatedtype Part
    init(parts: [Part])
    var parts: [Part] { get }
}

/// The common part of the result builders of prompts and instructions.
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
