extension LanguageModelSession {
    /// Answers a prompt.
    ///
    /// - Throws: `GenerationError`; `ToolCallError`; `CancellationError`; `LocalModelError.invalidOption`.
    @discardableResult
    public func respond(to prompt: Prompt, options: GenerationOptions = .init()) async throws -> Response<String> {
        try await answer(prompt, options, nil).response(String.self)
    }

    /// Answers a prompt.
    @discardableResult
    public func respond(to prompt: String, options: GenerationOptions = .init()) async throws -> Response<String> {
        try await respond(to: Prompt(prompt), options: options)
    }

    /// Answers a prompt.
    @discardableResult
    public func respond(
        options: GenerationOptions = .init(), isolation: isolated (any Actor)? = #isolation,
        @PromptBuilder prompt: () throws -> Prompt
    ) async throws -> Response<String> {
        try await respond(to: try prompt(), options: options)
    }

    /// Answers a prompt and streams the answer.
    ///
    /// Iterating the result throws the errors of `respond`.
    public func streamResponse(to prompt: Prompt, options: GenerationOptions = .init()) -> ResponseStream<String> {
        stream(prompt, options, nil)
    }

    /// Answers a prompt and streams the answer.
    public func streamResponse(to prompt: String, options: GenerationOptions = .init()) -> ResponseStream<String> {
        streamResponse(to: Prompt(prompt), options: options)
    }

    /// Answers a prompt and streams the answer.
    public func streamResponse(
        options: GenerationOptions = .init(), @PromptBuilder prompt: () throws -> Prompt
    ) rethrows -> ResponseStream<String> {
        streamResponse(to: try prompt(), options: options)
    }
}

// MARK: Values of types

extension LanguageModelSession {
    /// Answers a prompt with a value of a type.
    ///
    /// - Parameter includeSchemaInPrompt: Whether the prompt contains the schema. Generation is constrained to the
    ///   schema either way, but a model that reads it writes better values. Omit it if the instructions show an
    ///   example.
    /// - Throws: As for text; also `GenerationError.decodingFailure` and `unsupportedGuide`.
    @discardableResult
    public func respond<Content: Generable>(
        to prompt: Prompt, generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = .init()
    ) async throws -> Response<Content> {
        try await answer(prompt, options, Transcript.ResponseFormat(type, isInPrompt: includeSchemaInPrompt)).response(
            type)
    }

    /// Answers a prompt with a value of a type.
    @discardableResult
    public func respond<Content: Generable>(
        to prompt: String, generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = .init()
    ) async throws -> Response<Content> {
        try await respond(
            to: Prompt(prompt), generating: type, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
    }

    /// Answers a prompt with a value of a type.
    @discardableResult
    public func respond<Content: Generable>(
        generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = .init(), isolation: isolated (any Actor)? = #isolation,
        @PromptBuilder prompt: () throws -> Prompt
    ) async throws -> Response<Content> {
        let prompt = try prompt()
        return try await Transferred {
            try await respond(
                to: prompt, generating: type, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
        }.value
    }

    /// Answers a prompt with a value of a type, and streams it.
    public func streamResponse<Content: Generable>(
        to prompt: Prompt, generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = .init()
    ) -> ResponseStream<Content> {
        stream(prompt, options, Transcript.ResponseFormat(type, isInPrompt: includeSchemaInPrompt))
    }

    /// Answers a prompt with a value of a type, and streams it.
    public func streamResponse<Content: Generable>(
        to prompt: String, generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = .init()
    ) -> ResponseStream<Content> {
        streamResponse(
            to: Prompt(prompt), generating: type, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
    }

    /// Answers a prompt with a value of a type, and streams it.
    public func streamResponse<Content: Generable>(
        generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = .init(), @PromptBuilder prompt: () throws -> Prompt
    ) rethrows -> ResponseStream<Content> {
        streamResponse(
            to: try prompt(), generating: type, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
    }
}

// MARK: Values of schemas

extension LanguageModelSession {
    /// Answers a prompt with a value that a schema describes.
    ///
    /// - Throws: As for values of types.
    @discardableResult
    public func respond(
        to prompt: Prompt, schema: GenerationSchema, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = .init()
    ) async throws -> Response<GeneratedContent> {
        try await answer(prompt, options, Transcript.ResponseFormat(schema, isInPrompt: includeSchemaInPrompt))
            .response(GeneratedContent.self)
    }

    /// Answers a prompt with a value that a schema describes.
    @discardableResult
    public func respond(
        to prompt: String, schema: GenerationSchema, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = .init()
    ) async throws -> Response<GeneratedContent> {
        try await respond(
            to: Prompt(prompt), schema: schema, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
    }

    /// Answers a prompt with a value that a schema describes.
    @discardableResult
    public func respond(
        schema: GenerationSchema, includeSchemaInPrompt: Bool = true, options: GenerationOptions = .init(),
        isolation: isolated (any Actor)? = #isolation, @PromptBuilder prompt: () throws -> Prompt
    ) async throws -> Response<GeneratedContent> {
        try await respond(
            to: try prompt(), schema: schema, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
    }

    /// Answers a prompt with a value that a schema describes, and streams it.
    public func streamResponse(
        to prompt: Prompt, schema: GenerationSchema, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = .init()
    ) -> ResponseStream<GeneratedContent> {
        stream(prompt, options, Transcript.ResponseFormat(schema, isInPrompt: includeSchemaInPrompt))
    }

    /// Answers a prompt with a value that a schema describes, and streams it.
    public func streamResponse(
        to prompt: String, schema: GenerationSchema, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = .init()
    ) -> ResponseStream<GeneratedContent> {
        streamResponse(
            to: Prompt(prompt), schema: schema, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
    }

    /// Answers a prompt with a value that a schema describes, and streams it.
    public func streamResponse(
        schema: GenerationSchema, includeSchemaInPrompt: Bool = true, options: GenerationOptions = .init(),
        @PromptBuilder prompt: () throws -> Prompt
    ) rethrows -> ResponseStream<GeneratedContent> {
        streamResponse(
            to: try prompt(), schema: schema, includeSchemaInPrompt: includeSchemaInPrompt, options: options)
    }
}

extension Transcript.ResponseFormat {
    /// - Returns: `nil` for text, which needs no format.
    fileprivate init?<Content: Generable>(_ type: Content.Type, isInPrompt: Bool) {
        guard type != String.self else { return nil }
        self.init(type: type)
        self.isInPrompt = isInPrompt
    }

    fileprivate init(_ schema: GenerationSchema, isInPrompt: Bool) {
        self.init(schema: schema)
        self.isInPrompt = isInPrompt
    }
}

/// A value that was made for its receiver alone, and so may cross to the receiver's actor.
private struct Transferred<Value>: @unchecked Sendable {
    let value: Value

    init(_ make: () async throws -> Value) async rethrows { value = try await make() }
}
