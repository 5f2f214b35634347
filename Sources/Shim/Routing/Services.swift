import HTTP
package import LocalLLM
package import Wire

/// Dependencies of the handlers: one value for the whole server, without state of any request.
package struct Services: Sendable {
    package let models: ModelStore
    /// How long a streamed answer may be silent before the server sends a comment to keep the connection open.
    var pingInterval: Duration = .seconds(5)
    /// How long a prefill may be silent before the first such comment, which commits the status; at most `pingInterval`.
    var firstPing: Duration = .milliseconds(500)
    /// Deadline of a whole response.
    package var requestTimeout: Duration = .seconds(3600)
    /// The API that answers requests this server cannot; `nil` without `--upstream`.
    var upstream: Upstream?
    /// Filter for prompts and answers of local models; `nil`: none.
    package var guardrail: (any Guardrail)?
    /// Gets images by their web addresses; `nil` without `--allow-image-urls`.
    var imageFetcher: ImageFetcher?
    /// Whether responses requests with tools that OpenAI's API runs itself are refused; else these are left out.
    var refusesHostedTools = false
    /// Whether an answer that is nothing but JSON with a tool's name and arguments is a call.
    var readsBareCalls = true
    let metrics = Metrics()
    var responses = ResponseStore()
    var conversations = ConversationStore()
    let background = BackgroundResponses()
    package let latestRequests = LatestRequests()

    /// Leases the model that a request names, or without a name the server's only model.
    ///
    /// - Parameters:
    ///   - takesAdapters: Whether the name may be an adapter's: the handler applies the lease's `adapterScales`, or
    ///     adapters do not change its answer.
    ///   - keepAlive: How long the model stays in memory when it is idle again; `nil`: as the server was told.
    package func lease(
        _ name: String?, for context: RequestContext, takesAdapters: Bool = false, keepAlive: KeepAlive? = nil
    ) async throws -> ModelLease {
        guard let name = name ?? models.implied?.file.id else { throw APIError(missing: "model") }
        let lease = try await models.lease(for: name, keepAlive: permitted(keepAlive, for: name, context))
        guard takesAdapters || lease.adapterScales == nil else {
            throw APIError.invalid("model", "'\(name)' is an adapter; only requests for generated text can name one")
        }
        context.trace.model = lease.id
        return lease
    }

    /// What a request may say about the time that a model stays in memory; `nil` if it is not its to decide.
    func permitted(_ keepAlive: KeepAlive?, for name: String, _ context: RequestContext) -> KeepAlive? {
        guard let keepAlive else { return nil }
        if let kind = context.principal?.kind, kind != .apiKey {
            context.trace.warn("keep_alive has no effect: it needs an API key of the server")
        } else if (try? models.model(named: name))?.isPinned == true {
            context.trace.warn("keep_alive has no effect: the server keeps this model in memory")
        } else {
            return keepAlive
        }
        return nil
    }

    /// Whether any local model may accept images.
    package var seesImages: Bool { models.seesImages }

    /// The upstream, or the error that tells how to configure one.
    ///
    /// - Parameter what: The feature that needs it, in the plural, as "Images".
    package func upstream(for what: String) throws(APIError) -> Upstream {
        guard let upstream else { throw .needsUpstream(what) }
        return upstream
    }
}
