import Foundation
import HTTP
@testable import LocalLLM
import TestSupport
import Testing

@testable import Shim

/// A model served from a file that is not there: `/models/Test-Q4.gguf`. Without an engine it loads for ever.
func router(
    _ model: (any LanguageModel)?, alias: String? = nil, pingInterval: Duration = .seconds(600),
    requestTimeout: Duration = .seconds(600), adapters: [LocalModel.AdapterFile] = [], seesImages: Bool = false
) -> Services {
    var catalog = ModelCatalog(
        files: [URL(fileURLWithPath: "/models/Test-Q4.gguf")],
        aliases: alias.map { [.init(name: $0, model: "Test-Q4")] } ?? [])
    catalog.defaults.configuration.adapters = adapters
    if seesImages { catalog.defaults.configuration.imageEncoder = URL(fileURLWithPath: "/models/imageReader.gguf") }
    let models = ModelStore(
        catalog,
        tools: .init(
            load: { _, _ in
                try await Task.sleep(for: .seconds(3600))
                throw CancellationError()
            }, estimate: { _ in .small }))
    if let model { models.only?.finishLoading(.success(model)) }
    return Services(
        models: models, pingInterval: pingInterval, firstPing: pingInterval, requestTimeout: requestTimeout)
}

/// The model in models/.
func bundledModel() async throws -> LocalModel {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../models").standardized
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    return try await LocalModel.load(
        from: folder.appending(path: try #require(names.first { $0.hasSuffix(".gguf") })))
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

    var text: String { String(decoding: bytes, as: UTF8.self) }

    var json: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]) ?? [:]
    }

    var error: [String: Any] { json["error"] as? [String: Any] ?? [:] }
    var choices: [[String: Any]] { json["choices"] as? [[String: Any]] ?? [] }
    var choice: [String: Any] { choices.first ?? [:] }
    var message: [String: Any] { choice["message"] as? [String: Any] ?? [:] }
    var usage: [String: Any] { json["usage"] as? [String: Any] ?? [:] }
}

extension Services {
    /// The answer behind the front door.
    @Sendable func respond(to request: Request) async throws -> Response {
        var context = RequestContext(request)
        try await context.readBody(seesImages: seesImages)
        return try await runHandler(context, self)
    }

    /// The answer to a request in process; of a stream, the head only.
    func answer(_ method: String, _ path: String, _ body: String = "") async -> Answer {
        let parts = path.split(separator: "?", maxSplits: 1).map(String.init)
        let query = parts.dropFirst().joined().split(separator: "&").map { item in
            let pair = item.split(separator: "=", maxSplits: 1).map(String.init)
            return QueryItem(name: pair[0], value: pair.count > 1 ? pair[1] : "")
        }
        let request = Request(
            method: method, target: path, path: parts[0], query: query, body: Array(body.utf8))
        var response: Response
        do { response = try await respond(to: request) } catch { response = errorResponse(error, ()) }
        guard case .bytes(let bytes) = response.body else {
            return Answer(status: response.status, headers: response.headers, bytes: [])
        }
        return Answer(status: response.status, headers: response.headers, bytes: bytes)
    }

    func chat(_ fields: String = "", model: String = "Test-Q4") async -> Answer {
        await answer("POST", "/v1/chat/completions", chatBody(fields, model: model))
    }

    /// A chat with the given messages, which are JSON.
    func chat(messages: String) async -> Answer {
        await answer("POST", "/v1/chat/completions", #"{"model":"Test-Q4","messages":[\#(messages)]}"#)
    }

    func complete(_ fields: String) async -> Answer {
        await answer("POST", "/v1/completions", #"{"model":"Test-Q4",\#(fields)}"#)
    }

    /// The events of a streamed answer, over a socket.
    func stream(_ body: String, at path: String = "/v1/chat/completions") async throws -> EventStream {
        EventStream(try await withShim(self) { try await exchange($0, post(path, body)) })
    }
}

func chatBody(_ fields: String = "", model: String = "Test-Q4") -> String {
    #"{"model":"\#(model)","messages":[{"role":"user","content":"Hi"}]\#(fields.isEmpty ? "" : ", " + fields)}"#
}

/// A streamed answer as it came over the socket.
struct EventStream {
    let text: String
    /// Each event and each comment, with its name if it has one.
    let events: [String]

    init(_ text: String) {
        self.text = text
        // A write is one chunk; chunk sizes and the head are lines of their own.
        events = text.components(separatedBy: "\r\n").flatMap { $0.components(separatedBy: "\n\n") }
            .filter { $0.hasPrefix("data: ") || $0.hasPrefix("event: ") || $0.hasPrefix(":") }
    }

    /// The JSON of each event but `[DONE]`.
    var chunks: [[String: Any]] {
        events.compactMap { event in
            guard let data = event.components(separatedBy: "data: ").dropFirst().first else { return nil }
            return try? JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any]
        }
    }

    var choices: [[String: Any]] { chunks.flatMap { $0["choices"] as? [[String: Any]] ?? [] } }
    var deltas: [[String: Any]] { choices.compactMap { $0["delta"] as? [String: Any] } }
    /// The text of a choice, put together.
    func content(_ index: Int = 0, _ field: String = "content") -> String {
        choices.filter { $0["index"] as? Int == index }
            .compactMap { ($0["delta"] as? [String: Any])?[field] as? String }.joined()
    }
    var error: [String: Any]? { chunks.last?["error"] as? [String: Any] }
}

/// Runs a router behind a server on a free port.
func withShim<T: Sendable>(_ router: Services, _ body: (UInt16) async throws -> T) async throws -> T {
    try await withServer(router.respond, body)
}

func post(_ path: String, _ body: String) -> String {
    """
    POST \(path) HTTP/1.1\r
    Host: localhost\r
    Content-Type: application/json\r
    Connection: close\r
    Content-Length: \(body.utf8.count)\r
    \r
    \(body)
    """
}

func chatRequest(_ body: String) -> String { post("/v1/chat/completions", body) }

/// Everything a request is answered with over a socket.
func exchange(_ port: UInt16, _ request: String) async throws -> String {
    try await onThread {
        let client = try SocketClient(port: port)
        try client.send(request)
        return try client.receiveAll()
    }
}
