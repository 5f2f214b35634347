import CommandLineParsing
import Cryptography
import Foundation
import HTTP
import JSON
import LocalLLM
import Wire

/// `POST /api/pull` of Ollama's API: downloads a model from Hugging Face into the folder of models.
///
/// If the client disconnects, the download ends; the next one resumes it.
@Sendable func pullLikeOllama(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(OllamaPullRequest.self, from: context.body)
    if let id = services.models.id(ofTagged: body.model) {
        let model = try services.models.model(named: id)
        let isThere = OllamaProgress("\(model.file.url.lastPathComponent) is already here")
        return try await respond(with: .of([isThere, .success]), streams: body.streams)
    }
    let directory = try services.modelFolder("pulled")
    // Clients do not choose which other hosts this one connects to.
    guard let source = try? PullSource.meant(by: body.model), source.hasPrefix("hf:") else {
        throw APIError.invalid(
            "model",
            "'\(body.model)' is neither at Hugging Face, the only place from which this server pulls models, nor one of "
                + KnownModel.all.map(\.name).joined(separator: ", ")
                + ". Name a repository of GGUF files: hf.co/OWNER/REPOSITORY:QUANTIZATION")
    }
    return try await respond(with: .pulling(source, into: directory), streams: body.streams)
}

/// `DELETE /api/delete` of Ollama's API: removes a model's files from the folder of models.
@Sendable func deleteLikeOllama(_ context: RequestContext, _ services: Services) throws -> Response {
    let name = try JSON.decode(OllamaModelName.self, from: context.body).model
    let directory = try services.modelFolder("deleted")
    let model = try services.models.model(named: services.id(ofTagged: name))
    let file = model.file.url.lastPathComponent
    guard ModelCatalog.key(model.file.url.deletingLastPathComponent()) == ModelCatalog.key(directory) else {
        throw APIError.invalid("model", "'\(model.file.id)' is not in the server's folder of models")
    }
    try model.unloadForOperator()
    do { _ = try removeModel(SplitName(file)?.stem ?? file, in: directory) } catch let error as PullError {
        throw APIError(status: 500, kind: .server, message: error.description, code: "model_not_removed")
    }
    services.models.rescan()
    return Response(status: 200, headers: ["Content-Type": "application/json"], body: .bytes([]))
}

/// A handler for a route of Ollama's API that is not served: says what to do instead.
func refusing(_ advice: String) -> Route.Handler {
    { _, _ in throw APIError(status: 501, kind: .server, message: advice, code: "not_supported") }
}

/// Progress as lines, or the last state as one object.
private func respond(
    with progress: AsyncThrowingStream<OllamaProgress, any Error>, streams: Bool
) async throws -> Response {
    guard streams else {
        var last = OllamaProgress.success
        for try await state in progress { last = state }
        return try .json(last)
    }
    return Response(
        status: 200, headers: .ofStream(OllamaEncoder.mediaType),
        body: .stream { writer in
            do {
                for try await state in progress { try await writer.write(JSON.encode(state) + [10]) }
            } catch  where !(error is ConnectionError) {
                try await writer.write(OllamaEncoder.failure(APIError(reporting: error)))
            }
        })
}

extension AsyncThrowingStream<OllamaProgress, any Error> {
    fileprivate static func of(_ states: [OllamaProgress]) -> Self {
        Self { continuation in
            for state in states { continuation.yield(state) }
            continuation.finish()
        }
    }

    /// Downloads a model. Ending the iteration early ends the download.
    fileprivate static func pulling(_ source: String, into directory: URL) -> Self {
        let (states, continuation) = makeStream()
        let task = Task {
            do {
                continuation.yield(OllamaProgress("pulling manifest"))
                let observer = PullObserver(
                    say: { continuation.yield(OllamaProgress($0)) },
                    progress: { continuation.yield(OllamaProgress(of: $0, $1, of: $2)) })
                let token = ProcessInfo.processInfo.environment["HF_TOKEN"]
                try await pullModel(source, into: directory, token: token, choosing: "Q4_K_M", observer)
                continuation.yield(.success)
                continuation.finish()
            } catch let error as PullError {
                continuation.finish(throwing: APIError.notPulled(error.description))
            } catch let error as UsageError {
                continuation.finish(throwing: APIError.notPulled("\(error)"))
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return states
    }
}

extension OllamaProgress {
    fileprivate init(of file: String, _ count: Int, of total: Int?) {
        self.init("pulling \(file)")
        (digest, completed, self.total) = ("sha256:\(SHA256.digest(of: file.utf8).hexadecimal)", count, total)
    }
}

extension APIError {
    fileprivate static func notPulled(_ reason: String) -> Self {
        .init(status: 400, kind: .invalidRequest, message: reason, code: "pull_failed")
    }
}

extension Services {
    /// The folder of models.
    ///
    /// - Parameter what: What is to be done with a model, as "pulled".
    fileprivate func modelFolder(_ what: String) throws(APIError) -> URL {
        if let directory = models.directory { return directory }
        throw APIError(
            status: 501, kind: .server,
            message: "This server has no folder of models, so none can be \(what): start it with --models-dir DIR",
            code: "not_supported")
    }
}
