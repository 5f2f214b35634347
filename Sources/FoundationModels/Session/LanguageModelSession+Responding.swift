// The 26 SDK's forms, and the 27 SDK's with context options and metadata: for text, types and schemas, each with a prompt,
// a string and a builder.

extension LanguageModelSession {
    /// Answers a prompt.
    @discardableResult
    public func respond(
        to prompt: Prompt, options: GenerationOptions = GenerationOptions()
    ) async throws -> Response<String> {
        try await answer(
            SessionRequest(
                prompt: prompt, format: nil, options: options, context: ContextOptions(), metadata: [:])
        ).response(String.self)
    }

    /// Answers a prompt.
    @discardableResult
    @_disfavoredOverload
    public func respond(
        to prompt: String, options: GenerationOptions = GenerationOptions()
    ) async throws -> Response<String> {
        try await answer(
            SessionRequest(
                prompt: Prompt(prompt), format: nil, options: options, context: ContextOptions(), metadata: [:])
        ).response(String.self)
    }

    /// Answers a prompt.
    @discardableResult
    public func respond(
        options: GenerationOptions = GenerationOptions(), @PromptBuilder prompt: () throws -> Prompt
    ) async throws -> Response<String> {
        let prompt = try prompt()
        return try await answer(
            SessionRequest(
                prompt: prompt, format: nil, options: options, context: ContextOptions(), metadata: [:])
        ).response(String.self)
    }

    /// Answers a prompt.
    @discardableResult
    public func respond(
        to prompt: Prompt, options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) async throws -> Response<String> {
        try await answer(
            SessionRequest(
                prompt: prompt, format: nil, options: options, context: contextOptions, metadata: metadata)
        ).response(String.self)
    }

    /// Answers a prompt.
    @discardableResult
    @_disfavoredOverload
    public func respond(
        to prompt: String, options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) async throws -> Response<String> {
        try await answer(
            SessionRequest(
                prompt: Prompt(prompt), format: nil, options: options, context: contextOptions, metadata: metadata)
        ).response(String.self)
    }

    /// Answers a prompt.
    @discardableResult
    public func respond(
        options: GenerationOptions = GenerationOptions(), contextOptions: ContextOptions = ContextOptions(),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:],
        @PromptBuilder prompt: () throws -> Prompt
    ) async throws -> Response<String> {
        let prompt = try prompt()
        return try await answer(
            SessionRequest(
                prompt: prompt, format: nil, options: options, context: contextOptions, metadata: metadata)
        ).response(String.self)
    }
}

// MARK: Values of types

extension LanguageModelSession {
    /// Answers a prompt with a value of a type.
    @discardableResult
    public func respond<Content: Generable>(
        to prompt: Prompt, generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions()
    ) async throws -> Response<Content> {
        try await answer(
            SessionRequest(
                prompt: prompt, format: Transcript.ResponseFormat(of: type), options: options,
                context: ContextOptions(includeSchemaInPrompt: includeSchemaInPrompt), metadata: [:])
        ).response(Content.self)
    }

    /// Answers a prompt with a value of a type.
    @discardableResult
    @_disfavoredOverload
    public func respond<Content: Generable>(
        to prompt: String, generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions()
    ) async throws -> Response<Content> {
        try await answer(
            SessionRequest(
                prompt: Prompt(prompt), format: Transcript.ResponseFormat(of: type), options: options,
                context: ContextOptions(includeSchemaInPrompt: includeSchemaInPrompt), metadata: [:])
        ).response(Content.self)
    }

    /// Answers a prompt with a value of a type.
    @discardableResult
    public func respond<Content: Generable>(
        generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions(), @PromptBuilder prompt: () throws -> Prompt
    ) async throws -> Response<Content> {
        let prompt = try prompt()
        return try await answer(
            SessionRequest(
                prompt: prompt, format: Transcript.ResponseFormat(of: type), options: options,
                context: ContextOptions(includeSchemaInPrompt: includeSchemaInPrompt), metadata: [:])
        ).response(Content.self)
    }

    /// Answers a prompt with a value of a type.
    @discardableResult
    public func respond<Content: Generable>(
        to prompt: Prompt, generating type: Content.Type = Content.self,
        options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) async throws -> Response<Content> {
        try await answer(
            SessionRequest(
                prompt: prompt, format: Transcript.ResponseFormat(of: type), options: options, context: contextOptions,
                metadata: metadata)
        ).response(Content.self)
    }

    /// Answers a prompt with a value of a type.
    @discardableResult
    @_disfavoredOverload
    public func respond<Content: Generable>(
        to prompt: String, generating type: Content.Type = Content.self,
        options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) async throws -> Response<Content> {
        try await answer(
            SessionRequest(
                prompt: Prompt(prompt), format: Transcript.ResponseFormat(of: type), options: options,
                context: contextOptions, metadata: metadata)
        ).response(Content.self)
    }

    /// Answers a prompt with a value of a type.
    @discardableResult
    public func respond<Content: Generable>(
        generating type: Content.Type = Content.self, options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:],
        @PromptBuilder prompt: () throws -> Prompt
    ) async throws -> Response<Content> {
        let prompt = try prompt()
        return try await answer(
            SessionRequest(
                prompt: prompt, format: Transcript.ResponseFormat(of: type), options: options, context: contextOptions,
                metadata: metadata)
        ).response(Content.self)
    }
}

// MARK: Values of schemas

extension LanguageModelSession {
    /// Answers a prompt with a value that a schema describes.
    @discardableResult
    public func respond(
        to prompt: Prompt, schema: GenerationSchema, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions()
    ) async throws -> Response<GeneratedContent> {
        try await answer(
            SessionRequest(
                prompt: prompt, format: Transcript.ResponseFormat(schema: schema), options: options,
                context: ContextOptions(includeSchemaInPrompt: includeSchemaInPrompt), metadata: [:])
        ).response(GeneratedContent.self)
    }

    /// Answers a prompt with a value that a schema describes.
    @discardableResult
    @_disfavoredOverload
    public func respond(
        to prompt: String, schema: GenerationSchema, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions()
    ) async throws -> Response<GeneratedContent> {
        try await answer(
            SessionRequest(
                prompt: Prompt(prompt), format: Transcript.ResponseFormat(schema: schema), options: options,
                context: ContextOptions(includeSchemaInPrompt: includeSchemaInPrompt), metadata: [:])
        ).response(GeneratedContent.self)
    }

    /// Answers a prompt with a value that a schema describes.
    @discardableResult
    public func respond(
        schema: GenerationSchema, includeSchemaInPrompt: Bool = true, options: GenerationOptions = GenerationOptions(),
        @PromptBuilder prompt: () throws -> Prompt
    ) async throws -> Response<GeneratedContent> {
        let prompt = try prompt()
        return try await answer(
            SessionRequest(
                prompt: prompt, format: Transcript.ResponseFormat(schema: schema), options: options,
                context: ContextOptions(includeSchemaInPrompt: includeSchemaInPrompt), metadata: [:])
        ).response(GeneratedContent.self)
    }

    /// Answers a prompt with a value that a schema describes.
    @discardableResult
    @_disfavoredOverload
    public func respond(
        to prompt: Prompt, schema: GenerationSchema, options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) async throws -> Response<GeneratedContent> {
        try await answer(
            SessionRequest(
                prompt: prompt, format: Transcript.ResponseFormat(schema: schema), options: options,
                context: contextOptions, metadata: metadata)
        ).response(GeneratedContent.self)
    }

    /// Answers a prompt with a value that a schema describes.
    @discardableResult
    @_disfavoredOverload
    public func respond(
        to prompt: String, schema: GenerationSchema, options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) async throws -> Response<GeneratedContent> {
        try await answer(
            SessionRequest(
                prompt: Prompt(prompt), format: Transcript.ResponseFormat(schema: schema), options: options,
                context: contextOptions, metadata: metadata)
        ).response(GeneratedContent.self)
    }

    /// Answers a prompt with a value that a schema describes.
    @discardableResult
    @_disfavoredOverload
    public func respond(
        schema: GenerationSchema, options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:],
        @PromptBuilder prompt: () throws -> Prompt
    ) async throws -> Response<GeneratedContent> {
        let prompt = try prompt()
        return try await answer(
            SessionRequest(
                prompt: prompt, format: Transcript.ResponseFormat(schema: schema), options: options,
                context: contextOptions, metadata: metadata)
        ).response(GeneratedContent.self)
    }
}

extension Transcript.ResponseFormat {
    /// - Returns: `nil` for text, which needs no format.
    init?<Content: Generable>(of type: Content.Type) {
        guard type != String.self else { return nil }
        self.init(type: type)
    }
}
