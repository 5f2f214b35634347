import HTTP
package import LocalLLM
package import Wire

/// Dependencies of the handlers: one value for the whole server, without state of any request.
package struct Services: Sendable {
    package let models: ModelStore
    /// How long a streamed answer may be silent before the server sends a comment to keep the connection open.
    var pingInterval: Duration = .seconds(5)
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
    package let latestRequests = LatestRequests()

    /// Leases the model that a request names, or without a name the server's only model.
    ///
    /// - Parameter takesAdapters: Whether the name may be an adapter's: the handler applies the lease's `adapterScales`, or
    ///   adapters do not change its answer.
    package func lease(
        _ name: String?, for context: RequestContext, takesAdapters: Bool = false
    ) async throws -> ModelLease {
        guard let name = name ?? models.implied?.file.id else { throw APIError(missing: "model") }
        let lease = try await models.lease(for: name)
        guard takesAdapters || lease.adapterScales == nil else {
            throw APIError.invalid("model", "'\(name)' is an adapter; only requests for generated text can name one")
        }
        context.trace.model = lease.id
        return lease
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
