extension RouteTable {
    /// The routes of the server itself. The handlers are in the other files of this folder.
    package static let server = RouteTable([
        Route("GET", "/health", access: .everyone, handler: showHealth),
        Route("GET", "/ready", access: .everyone, handler: showReadiness),
        Route("GET", "/props", access: .clients(.operators), handler: showProps),
        Route("GET", "/metrics", access: .clients(.operators), handler: showMetrics),
        Route("GET", "/version", handler: showVersion),
        Route("GET", "/", "/page/{file*}", access: .everyone, handler: showPage),

        Route("GET", "/api/engines", access: .clients(.standard), handler: listEngines),

        // OpenAI's API; also without /v1, as llama.cpp's server accepts it.
        Route("GET", "/v1/models", "/models", handler: listModels),
        Route("GET", "/v1/models/{id*}", "/models/{id*}", handler: showModel),
        Route("POST", "/v1/chat/completions", "/chat/completions", takesImages: true, handler: createChatCompletion),
        Route(
            "POST", "/v1/chat/completions/input_tokens", "/chat/completions/input_tokens", takesImages: true,
            handler: countChatTokens),
        Route("POST", "/v1/completions", "/completions", handler: createCompletion),
        Route("POST", "/v1/embeddings", "/embeddings", handler: createEmbeddings),
        Route("POST", "/v1/decisions", "/decisions", takesImages: true, handler: decide),
        Route("POST", "/v1/rerank", "/rerank", "/v1/reranking", "/reranking", handler: rerank),
        Route("POST", "/v2/rerank", handler: rerankLikeCohere),
        Route("POST", "/score", "/v1/score", handler: score),
        Route("POST", "/classify", handler: classify),
        Route("POST", "/pooling", handler: pool),
        Route("POST", "/v1/responses", "/responses", takesImages: true, handler: createResponse),
        Route("GET", "/v1/responses/{id}", "/responses/{id}", handler: showResponse),
        Route("DELETE", "/v1/responses/{id}", "/responses/{id}", handler: deleteResponse),
        Route("GET", "/v1/responses/{id}/input_items", "/responses/{id}/input_items", handler: listInputItems),
        Route(
            "POST", "/v1/responses/input_tokens", "/responses/input_tokens", takesImages: true,
            handler: countInputTokens),
        Route("POST", "/v1/responses/{id}/cancel", "/responses/{id}/cancel", handler: cancelResponse),
        Route("POST", "/v1/conversations", "/conversations", takesImages: true, handler: createConversation),
        Route("GET", "/v1/conversations/{id}", "/conversations/{id}", handler: showConversation),
        Route("POST", "/v1/conversations/{id}", "/conversations/{id}", handler: updateConversation),
        Route("DELETE", "/v1/conversations/{id}", "/conversations/{id}", handler: deleteConversation),
        Route(
            "POST", "/v1/conversations/{id}/items", "/conversations/{id}/items", takesImages: true,
            handler: addConversationItems),
        Route("GET", "/v1/conversations/{id}/items", "/conversations/{id}/items", handler: listConversationItems),
        Route(
            "GET", "/v1/conversations/{id}/items/{item}", "/conversations/{id}/items/{item}",
            handler: showConversationItem),
        Route(
            "DELETE", "/v1/conversations/{id}/items/{item}", "/conversations/{id}/items/{item}",
            handler: deleteConversationItem),
        Route("POST", "/v1/responses/compact", "/responses/compact", takesImages: true, handler: compactResponse),
        Route("POST", "/v1/messages", takesImages: true, errors: .anthropic, handler: createMessage),
        Route(
            "POST", "/v1/messages/count_tokens", takesImages: true, errors: .anthropic, handler: countMessageTokens),
        Route("POST", "/v1/images/generations", handler: createImages),
        Route("POST", "/v1/images/edits", bodyBytes: Route.imageBodyBytes) {
            try await forwardForm(to: .imageEdits, $0, $1)
        },
        Route("POST", "/v1/images/variations", bodyBytes: Route.imageBodyBytes) {
            try await forwardForm(to: .imageVariations, $0, $1)
        },

        // llama.cpp's API.
        Route("POST", "/models/load", access: .clients(.operators), handler: loadModel),
        Route("POST", "/models/unload", access: .clients(.operators), handler: unloadModel),
        Route("GET", "/slots", access: .clients(.operators), handler: showSlots),
        Route("POST", "/slots/{id}", access: .clients(.operators), handler: changeSlot),
        Route("GET", "/lora-adapters", access: .clients(.operators), handler: listAdapters),
        Route("POST", "/lora-adapters", access: .clients(.operators), handler: setAdapters),
        Route("POST", "/completion", handler: completeLikeLlama),
        Route("POST", "/infill", handler: infill),
        Route("POST", "/tokenize", access: .clients(.operators), handler: tokenize),
        Route("POST", "/detokenize", access: .clients(.operators), handler: detokenize),
        Route("POST", "/apply-template", access: .clients(.operators), handler: applyTemplate),

        // Ollama's API.
        Route("GET", "/api/version", errors: .ollama, handler: showOllamaVersion),
        Route("GET", "/api/tags", errors: .ollama, handler: listOllamaModels),
        Route("GET", "/api/ps", access: .clients(.operators), errors: .ollama, handler: listLoadedOllamaModels),
        Route("POST", "/api/show", errors: .ollama, handler: showOllamaModel),
        Route("POST", "/api/embed", errors: .ollama, handler: embedLikeOllama),
        Route("POST", "/api/embeddings", errors: .ollama, handler: embedPromptLikeOllama),
        Route("POST", "/api/pull", access: .clients(.operators), errors: .ollama, handler: pullLikeOllama),
        Route("DELETE", "/api/delete", access: .clients(.operators), errors: .ollama, handler: deleteLikeOllama),
        Route(
            "POST", "/api/copy", errors: .ollama,
            handler: refusing("Models are files here and are not copied: give one another name with --alias NAME=MODEL")
        ),
        Route(
            "POST", "/api/push", errors: .ollama,
            handler: refusing("This server publishes no models: upload the file, for example to Hugging Face")),
        Route(
            "POST", "/api/create", "/api/blobs/{digest}", errors: .ollama,
            handler: refusing(
                "This server creates no models: put a GGUF file into its folder of models, and give the model's settings "
                    + "in the configuration file (--config)")),
        Route("POST", "/api/chat", takesImages: true, errors: .ollama, handler: chatLikeOllama),
        Route("POST", "/api/generate", takesImages: true, errors: .ollama, handler: generateLikeOllama),
    ])
}
