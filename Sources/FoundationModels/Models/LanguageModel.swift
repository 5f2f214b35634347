/// A model that a session can talk to. Cheap to make and to copy: what is expensive belongs to its executor.
///
/// `SystemLanguageModel` is one; providers of other models define theirs.
public protocol LanguageModel: Sendable {
    /// What runs the model.
    associatedtype Executor: LanguageModelExecutor where Self == Executor.Model
    /// What the model can do. A session refuses requests that need more, with `LanguageModelError.unsupportedCapability`.
    var capabilities: LanguageModelCapabilities { get }
    /// What an executor is made from. A session keeps one executor for equal configurations.
    var executorConfiguration: Executor.Configuration { get }
}

/// What a model can do.
public struct LanguageModelCapabilities: Sendable {
    /// Something that a request may need of a model.
    public struct Capability: Sendable, Hashable {
        private let name: String

        /// Reads images.
        public static var vision: Self { .init(name: "vision") }
        /// Answers with values of a schema, always.
        public static var guidedGeneration: Self { .init(name: "guidedGeneration") }
        /// Thinks before it answers; a reasoning level has an effect.
        public static var reasoning: Self { .init(name: "reasoning") }
        /// Calls tools. A session with tools refuses a model without it.
        public static var toolCalling: Self { .init(name: "toolCalling") }
    }

    private let capabilities: Set<Capability>

    /// A model that can do these, and nothing else that a session asks for.
    public init(_ capabilities: [Capability]) { self.capabilities = Set(capabilities) }

    /// The same under the label of a beta.
    @available(*, deprecated, renamed: "init(_:)")
    public init(capabilities: [Capability]) { self.init(capabilities) }

    /// Whether the model declares the capability.
    public func contains(_ capability: Capability) -> Bool { capabilities.contains(capability) }
}

extension LanguageModelCapabilities.Capability: CustomStringConvertible {
    public var description: String { name }
}
