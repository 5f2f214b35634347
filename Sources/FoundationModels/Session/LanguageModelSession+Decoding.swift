extension LanguageModelSession {
    /// Answers a prompt with a value of a `Decodable` type, without `@Generable`.
    ///
    /// For the answer's usage and entries use `respond(to:schema:)` with `GenerationSchema(decoding:)`, and
    /// `decoded(as:)` of its content.
    ///
    /// - Throws: What `GenerationSchema(decoding:)` throws; `DecodingError` if the type's `init(from:)` demands more than its
    ///   schema says.
    public func respond<Value: Decodable>(
        to prompt: Prompt, decoding type: Value.Type, options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true)
    ) async throws -> Value {
        try await respond(
            to: prompt, schema: GenerationSchema(decoding: type), options: options, contextOptions: contextOptions
        ).content.decoded(as: type)
    }

    /// Answers a prompt with a value of a `Decodable` type, without `@Generable`.
    @_disfavoredOverload
    public func respond<Value: Decodable>(
        to prompt: String, decoding type: Value.Type, options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true)
    ) async throws -> Value {
        try await respond(to: Prompt(prompt), decoding: type, options: options, contextOptions: contextOptions)
    }
}
