public import Foundation
public import Tokenizer

/// A model loaded from a GGUF file, ready to generate.
///
/// One thread owns the model's steps; any number of tasks may call `generate` at once.
public final class LanguageModel: Sendable {
    /// What to load and how.
    public struct Configuration: Sendable {
        /// Most tokens a sequence may have; `nil` is what the model was trained for.
        public var contextSize: Int?
        /// `nil` counts the physical cores that this process may use.
        public var threads: Int?

        public init(contextSize: Int? = nil, threads: Int? = nil) {
            self.contextSize = contextSize
            self.threads = threads
        }
    }

    /// What the file says of itself.
    public struct Info: Sendable {
        /// `general.name`, or the file's name without its extension.
        public var name: String
        public var architecture: String
        /// The most common type among the weights, e.g. `Q4_K`.
        public var quantization: String
        public var parameterCount: Int
        public var fileBytes: Int
        public var vocabularySize: Int
        public var trainedContextSize: Int
    }

    public let info: Info
    /// Most tokens, prompt and answer together, that one request may have.
    public let contextSize: Int
    public let threads: Int
    /// The kernels chosen for this processor, as one readable line.
    public let kernels: String
    /// `nil` where the file has none.
    public let tokenizer: TextTokenizer?

    init() { fatalError("skeleton") }

    /// Loads a model.
    ///
    /// - Parameter progress: Called with 0...1 from a background thread. Cancel the task to stop loading.
    /// - Throws: `ModelFileError`, or `CancellationError`.
    public static func load(
        from url: URL, configuration: Configuration = .init(), progress: @escaping @Sendable (Double) -> Void = { _ in }
    ) async throws -> LanguageModel { throw LanguageModelError.shutDown }

    /// Answers a conversation, using the model's chat template.
    ///
    /// Errors come from iterating the result: `LanguageModelError`.
    public func generate(_ messages: [ChatMessage], options: GenerationOptions = .init()) -> Generation { fatalError("skeleton") }

    /// Continues a sequence of tokens.
    public func generate(tokens: [Int32], options: GenerationOptions = .init()) -> Generation { fatalError("skeleton") }

    /// Renders a conversation as the model expects it, with the prompt for the answer at its end.
    public func render(_ messages: [ChatMessage]) throws(LanguageModelError) -> String { throw .shutDown }

    /// The logits at every position of `tokens`, in steps of `chunk` tokens: `[tokens, vocabulary]`, row-major.
    public func logits(of tokens: [Int32], chunk: Int) async throws -> [Float] { throw LanguageModelError.shutDown }
}
