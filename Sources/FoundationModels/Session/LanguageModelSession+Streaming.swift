// The 26 SDK's forms, and the 27 SDK's with context options and metadata: for text, types and schemas, each with a prompt,
// a string and a builder.

extension LanguageModelSession {
    /// Answers a prompt and streams the answer.
    public func streamResponse(
        to prompt: Prompt, options: GenerationOptions = GenerationOptions()
    ) -> sending ResponseStream<String> {
        stream(
            SessionRequest(
                prompt: prompt, format: nil, options: options, context: ContextOptions(), metadata: [:]))
    }

    /// Answers a prompt and streams the answer.
    @_disfavoredOverload
    public func streamResponse(
        to prompt: String, options: GenerationOptions = GenerationOptions()
    ) -> sending ResponseStream<String> {
        stream(
            SessionRequest(
                prompt: Prompt(prompt), format: nil, options: options, context: ContextOptions(), metadata: [:]))
    }

    /// Answers a prompt and streams the answer.
    public func streamResponse(
        options: GenerationOptions = GenerationOptions(), @PromptBuilder prompt: () throws -> Prompt
    ) rethrows -> sending ResponseStream<String> {
        try stream(
            SessionRequest(
                prompt: prompt(), format: nil, options: options, context: ContextOptions(), metadata: [:]))
    }

    /// Answers a prompt and streams the answer.
    public func streamResponse(
        to prompt: Prompt, options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) -> sending ResponseStream<String> {
        stream(
            SessionRequest(
                prompt: prompt, format: nil, options: options, context: contextOptions, metadata: metadata))
    }

    /// Answers a prompt and streams the answer.
    @_disfavoredOverload
    public func streamResponse(
        to prompt: String, options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) -> sending ResponseStream<String> {
        stream(
            SessionRequest(
                prompt: Prompt(prompt), format: nil, options: options, context: contextOptions, metadata: metadata))
    }

    /// Answers a prompt and streams the answer.
    public func streamResponse(
        options: GenerationOptions = GenerationOptions(), contextOptions: ContextOptions = ContextOptions(),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:],
        @PromptBuilder prompt: () throws -> Prompt
    ) rethrows -> sending ResponseStream<String> {
        try stream(
            SessionRequest(
                prompt: prompt(), format: nil, options: options, context: contextOptions, metadata: metadata))
    }
}

// MARK: Values of types

extension LanguageModelSession {
    /// Answers a prompt with a value of a type and streams it.
    public func streamResponse<Content: Generable>(
        to prompt: Prompt, generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions()
    ) -> sending ResponseStream<Content> {
        stream(
            SessionRequest(
                prompt: prompt, format: Transcript.ResponseFormat(of: type), options: options,
                context: ContextOptions(includeSchemaInPrompt: includeSchemaInPrompt), metadata: [:]))
    }

    /// Answers a prompt with a value of a type and streams it.
    @_disfavoredOverload
    public func streamResponse<Content: Generable>(
        to prompt: String, generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions()
    ) -> sending ResponseStream<Content> {
        stream(
            SessionRequest(
                prompt: Prompt(prompt), format: Transcript.ResponseFormat(of: type), options: options,
                context: ContextOptions(includeSchemaInPrompt: includeSchemaInPrompt), metadata: [:]))
    }

    /// Answers a prompt with a value of a type and streams it.
    public func streamResponse<Content: Generable>(
        generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions(), @PromptBuilder prompt: () throws -> Prompt
    ) rethrows -> sending ResponseStream<Content> {
        try stream(
            SessionRequest(
                prompt: prompt(), format: Transcript.ResponseFormat(of: type), options: options,
                context: ContextOptions(includeSchemaInPrompt: includeSchemaInPrompt), metadata: [:]))
    }

    /// Answers a prompt with a value of a type and streams it.
    public func streamResponse<Content: Generable>(
        to prompt: Prompt, generating type: Content.Type = Content.self,
        options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) -> sending ResponseStream<Content> {
        stream(
            SessionRequest(
                prompt: prompt, format: Transcript.ResponseFormat(of: type), options: options, context: contextOptions,
                metadata: metadata))
    }

    /// Answers a prompt with a value of a type and streams it.
    @_disfavoredOverload
    public func streamResponse<Content: Generable>(
        to prompt: String, generating type: Content.Type = Content.self,
        options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) -> sending ResponseStream<Content> {
        stream(
            SessionRequest(
                prompt: Prompt(prompt), format: Transcript.ResponseFormat(of: type), options: options,
                context: contextOptions, metadata: metadata))
    }

    /// Answers a prompt with a value of a type and streams it.
    public func streamResponse<Content: Generable>(
        generating type: Content.Type = Content.self, options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:],
        @PromptBuilder prompt: () throws -> Prompt
    ) rethrows -> sending ResponseStream<Content> {
        try stream(
            SessionRequest(
                prompt: prompt(), format: Transcript.ResponseFormat(of: type), options: options,
                context: contextOptions, metadata: metadata))
    }
}

// MARK: Values of schemas

extension LanguageModelSession {
    /// Answers a prompt with a value that a schema describes and streams it.
    public func streamResponse(
        to prompt: Prompt, schema: GenerationSchema, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions()
    ) -> sending ResponseStream<GeneratedContent> {
        stream(
            SessionRequest(
                prompt: prompt, format: Transcript.ResponseFormat(schema: schema), options: options,
                context: ContextOptions(includeSchemaInPrompt: includeSchemaInPrompt), metadata: [:]))
    }

    /// Answers a prompt with a value that a schema describes and streams it.
    @_disfavoredOverload
    public func streamResponse(
        to prompt: String, schema: GenerationSchema, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions()
    ) -> sending ResponseStream<GeneratedContent> {
        stream(
            SessionRequest(
                prompt: Prompt(prompt), format: Transcript.ResponseFormat(schema: schema), options: options,
                context: ContextOptions(includeSchemaInPrompt: includeSchemaInPrompt), metadata: [:]))
    }

    /// Answers a prompt with a value that a schema describes and streams it.
    public func streamResponse(
        schema: GenerationSchema, includeSchemaInPrompt: Bool = true, options: GenerationOptions = GenerationOptions(),
        @PromptBuilder prompt: () throws -> Prompt
    ) rethrows -> sending ResponseStream<GeneratedContent> {
        try stream(
            SessionRequest(
                prompt: prompt(), format: Transcript.ResponseFormat(schema: schema), options: options,
                context: ContextOptions(includeSchemaInPrompt: includeSchemaInPrompt), metadata: [:]))
    }

    /// Answers a prompt with a value that a schema describes and streams it.
    @_disfavoredOverload
    public func streamResponse(
        to prompt: Prompt, schema: GenerationSchema, options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) -> sending ResponseStream<GeneratedContent> {
        stream(
            SessionRequest(
                prompt: prompt, format: Transcript.ResponseFormat(schema: schema), options: options,
                context: contextOptions, metadata: metadata))
    }

    /// Answers a prompt with a value that a schema describes and streams it.
    @_disfavoredOverload
    public func streamResponse(
        to prompt: String, schema: GenerationSchema, options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) -> sending ResponseStream<GeneratedContent> {
        stream(
            SessionRequest(
                prompt: Prompt(prompt), format: Transcript.ResponseFormat(schema: schema), options: options,
                context: contextOptions, metadata: metadata))
    }

    /// Answers a prompt with a value that a schema describes and streams it.
    @_disfavoredOverload
    public func streamResponse(
        schema: GenerationSchema, options: GenerationOptions = GenerationOptions(),
        contextOptions: ContextOptions = ContextOptions(includeSchemaInPrompt: true),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:],
        @PromptBuilder prompt: () throws -> Prompt
    ) rethrows -> sending ResponseStream<GeneratedContent> {
        try stream(
            SessionRequest(
                prompt: prompt(), format: Transcript.ResponseFormat(schema: schema), options: options,
                context: contextOptions, metadata: metadata))
    }
}
