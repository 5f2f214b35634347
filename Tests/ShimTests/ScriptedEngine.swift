import Foundation
import HTTP
import Synchronization
import TestSupport
import Wire

@testable import LocalLLM
@testable import Shim

/// An engine that says what it is told to, and remembers what it was asked.
final class ScriptedEngine: ChatEngine {
    struct Script: Sendable {
        var texts = ["Hello", ", ", "wörld"]
        var reason = FinishReason.stop
        /// Before the first piece, and between any two.
        var prefill = Duration.zero
        var pause = Duration.zero
        /// Thrown after the texts, instead of finishing.
        var error: LanguageModelError?
    }

    let info = LanguageModel.Info(
        name: "Scripted Model", architecture: "llama", quantization: "Q4_K", parameterCount: 1_000_000,
        fileBytes: 500_000, vocabularySize: 100, trainedContextSize: 128)
    let contextSize = 128
    let threads = 2
    let kernels = "scripted"
    let tier = KernelTier.portable

    let script: Script
    let asked = Mutex<[(messages: [ChatMessage], options: GenerationOptions)]>([])
    let wasCancelled = Mutex(false)

    init(_ script: Script = .init()) { self.script = script }

    func generate(_ messages: [ChatMessage], options: GenerationOptions) -> Generation {
        asked.withLock { $0.append((messages, options)) }
        let (stream, continuation) = AsyncThrowingStream<GenerationPiece, any Error>.makeStream()
        let work = Task { [script] in
            do {
                try await Task.sleep(for: script.prefill)
                for text in script.texts {
                    continuation.yield(GenerationPiece(text: text, tokens: [1], finish: nil))
                    try await Task.sleep(for: script.pause)
                }
                if let error = script.error { return continuation.finish(throwing: error) }
                let usage = Usage(
                    promptTokens: 7, completionTokens: script.texts.count, secondsToFirstToken: 0, decodeSeconds: 0)
                continuation.yield(
                    GenerationPiece(text: "", tokens: [2], finish: .init(reason: script.reason, usage: usage)))
                continuation.finish()
            } catch {
                wasCancelled.withLock { $0 = true }
                continuation.finish()
            }
        }
        continuation.onTermination = { reason in if case .cancelled = reason { work.cancel() } }
        return Generation(stream) { work.cancel() }
    }

    /// Whether the generation is cancelled within a time.
    func isCancelled(within limit: Duration) async -> Bool {
        let deadline = ContinuousClock.now + limit
        while !wasCancelled.withLock({ $0 }), .now < deadline { try? await Task.sleep(for: .milliseconds(5)) }
        return wasCancelled.withLock { $0 }
    }
}

/// A model served from a file that is not there: `/models/Test-Q4.gguf`. Without an engine it loads for ever.
func router(_ engine: ScriptedEngine?, alias: String? = nil, pingInterval: Duration = .seconds(600)) -> Router {
    let catalog = ModelCatalog(
        files: [URL(fileURLWithPath: "/models/Test-Q4.gguf")],
        aliases: alias.map { [.init(name: $0, model: "Test-Q4")] } ?? [])
    let models = ModelStore(
        catalog,
        tools: .init(
            load: { _, _ in
                try await Task.sleep(for: .seconds(3600))
                throw CancellationError()
            }, estimate: { _ in .small }))
    if let engine { models.only?.finishLoading(.success(engine)) }
    return Router(models: models, pingInterval: pingInterval)
}

extension MemoryEstimate {
    static let small = MemoryEstimate(
        weights: 1, cache: 0, scratch: 0, vocabulary: 0, contextSize: 1, available: 1 << 30)
}

/// A response with its body read, as JSON.
struct Answer {
    var status: Int
    var headers: Headers
    var bytes: [UInt8]

    var json: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]) ?? [:]
    }

    var error: [String: Any] { json["error"] as? [String: Any] ?? [:] }
    var choice: [String: Any] { (json["choices"] as? [[String: Any]])?.first ?? [:] }
}

extension Router {
    /// The answer to a request in process; of a stream, the head only.
    func answer(_ method: String, _ path: String, _ body: String = "") async -> Answer {
        let request = Request(method: method, target: path, path: path, body: Array(body.utf8))
        var response: Response
        do { response = try await respond(to: request) } catch { response = errorResponse(error) }
        guard case .bytes(let bytes) = response.body else {
            return Answer(status: response.status, headers: response.headers, bytes: [])
        }
        return Answer(status: response.status, headers: response.headers, bytes: bytes)
    }

    func chat(_ fields: String = "", model: String = "Test-Q4") async -> Answer {
        await answer("POST", "/v1/chat/completions", chatBody(fields, model: model))
    }
}

func chatBody(_ fields: String = "", model: String = "Test-Q4") -> String {
    #"{"model":"\#(model)","messages":[{"role":"user","content":"Hi"}]\#(fields.isEmpty ? "" : ", " + fields)}"#
}

/// Runs a router behind a server on a free port.
func withShim<T: Sendable>(_ router: Router, _ body: (UInt16) async throws -> T) async throws -> T {
    let server = try await Server.start(
        .init(host: "127.0.0.1", port: 0, errorResponse: errorResponse), handler: router.respond)
    do {
        let result = try await body(server.port)
        await server.stop(within: .zero)
        return result
    } catch {
        await server.stop(within: .zero)
        throw error
    }
}

func chatRequest(_ body: String) -> String {
    """
    POST /v1/chat/completions HTTP/1.1\r
    Host: localhost\r
    Content-Type: application/json\r
    Connection: close\r
    Content-Length: \(body.utf8.count)\r
    \r
    \(body)
    """
}

/// Everything a chat request is answered with over a socket.
func exchange(_ port: UInt16, _ request: String) async throws -> String {
    try await onThread {
        let client = try SocketClient(port: port)
        try client.send(request)
        return try client.receiveAll()
    }
}
