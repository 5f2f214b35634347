import HTTP
import LocalLLM
import Wire

/// What handlers work with. One value for the whole server; it holds no state of a single request.
struct Services: Sendable {
    let models: ModelStore
    /// How long a streamed answer may be silent before the server sends a comment to keep the connection open.
    var pingInterval: Duration = .seconds(5)
    /// Maximum duration of a whole answer.
    var requestTimeout: Duration = .seconds(3600)
    /// Issues tokens; `nil` where no clients are configured.
    var clients: ClientAccess?
    /// The API that answers what this server cannot; `nil` without `--upstream`.
    var upstream: Upstream?
    /// Refuses prompts and answers of this server's models; `nil`: nothing is refused.
    var guardrail: (any Guardrail)?
    /// Whether the model of this server looks at pictures.
    var seesImages = false
    let metrics = Metrics()
    var responses = ResponseStore()
    let latestRequests = LatestRequests()

    /// The engine of the model that a request names. Without a name, that of the server's only model.
    func lease(_ name: String?, for context: RequestContext) async throws -> EngineLease {
        guard let name = name ?? models.only?.file.id else { throw APIError(missing: "model") }
        let lease = try await models.engine(for: name)
        context.trace.model = lease.model
        return lease
    }

    /// The upstream, or the error that tells how to configure one.
    ///
    /// - Parameter what: What needs it, in the plural, as "Images".
    func upstream(for what: String) throws(APIError) -> Upstream {
        guard let upstream else { throw .needsUpstream(what) }
        return upstream
    }
}
