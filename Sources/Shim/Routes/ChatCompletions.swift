import Foundation
import HTTP
import LocalLLM
import Wire

extension Router {
    /// `POST /v1/chat/completions`
    ///
    /// Read top to bottom, it is the life of a request. It catches nothing: `errorResponse` turns what is thrown into
    /// a status and OpenAI's error body. A client that leaves cancels the task this runs in, and that the generation.
    @Sendable func chatCompletions(_ request: Request) async throws -> Response {
        let body = try JSON.decode(ChatCompletionRequest.self, from: request.body).validated()
        let lease = try await models.engine(for: body.model)
        let messages = body.messages.map(ChatMessage.init)
        let identity = Identity(model: lease.model, engine: lease.engine)
        let generation = lease.engine.generate(messages, options: GenerationOptions(body))

        if body.stream == true {
            let includeUsage = body.streamOptions?.includeUsage == true
            return try await stream(generation, identity, lease, includeUsage: includeUsage)
        }
        defer { withExtendedLifetime(lease) {} }
        return try await whole(generation, identity)
    }

    private func whole(_ generation: Generation, _ identity: Identity) async throws -> Response {
        var text = ""
        var finish: GenerationPiece.Finish?
        for try await piece in generation {
            text += piece.text
            finish = piece.finish
        }
        guard let finish else { throw CancellationError() }
        return try .json(
            ChatCompletion(
                id: identity.id, created: identity.created, model: identity.model,
                systemFingerprint: identity.fingerprint, text: text, finishReason: finish.reason.rawValue,
                usage: TokenUsage(finish.usage)))
    }

    /// Waits for the first text, so that an error before it is still a plain HTTP error; but not so long that the
    /// client, or a proxy between, gives up.
    private func stream(
        _ generation: Generation, _ identity: Identity, _ lease: EngineLease, includeUsage: Bool
    ) async throws -> Response {
        let encoder = try ChatCompletionChunkEncoder(
            id: identity.id, created: identity.created, model: identity.model,
            systemFingerprint: identity.fingerprint, includeUsage: includeUsage)
        let events = StreamEvent.events(of: generation, pingInterval: pingInterval)
        var beginning = events.makeAsyncIterator()
        guard let first = try await beginning.next() else { throw CancellationError() }

        let headers: Headers = ["Content-Type": "text/event-stream", "Cache-Control": "no-cache"]
        return Response(
            status: 200, headers: headers,
            body: .stream { writer in
                defer { withExtendedLifetime(lease) {} }
                try await writer.write(encoder.role())
                do {
                    var usage: TokenUsage?
                    usage = try await send(first, writer, encoder)
                    for try await event in events { usage = try await send(event, writer, encoder) }
                    guard let usage else { throw CancellationError() }
                    if includeUsage { try await writer.write(encoder.usage(usage)) }
                    try await writer.write(ServerSentEvent.done)
                } catch let error where !(error is ConnectionError || error is CancellationError) {
                    // The status is long sent: all that is left is to say it in the stream, and end that.
                    let body = ErrorBody(APIError(reporting: error))
                    try await writer.write(ServerSentEvent.data(JSON.encode(body)))
                }
            })
    }

    /// Sends what an event is worth; returns the usage with the last.
    private func send(
        _ event: StreamEvent, _ writer: ResponseWriter, _ encoder: ChatCompletionChunkEncoder
    ) async throws -> TokenUsage? {
        switch event {
        case .ping:
            try await writer.write(ServerSentEvent.ping)
            return nil
        case .piece(let piece):
            if !piece.text.isEmpty { try await writer.write(encoder.text(piece.text)) }
            guard let finish = piece.finish else { return nil }
            try await writer.write(encoder.finish(finish.reason.rawValue))
            return TokenUsage(finish.usage)
        }
    }
}

/// A generated piece, or the sign that none came for a while.
private enum StreamEvent: Sendable {
    case piece(GenerationPiece)
    case ping

    /// The pieces of a generation, with pings until the first. Ending the iteration early cancels the generation.
    static func events(of generation: Generation, pingInterval: Duration) -> AsyncThrowingStream<Self, any Error> {
        let (stream, continuation) = AsyncThrowingStream<Self, any Error>.makeStream()
        let pings = Task {
            while true {
                try await Task.sleep(for: pingInterval)
                continuation.yield(.ping)
            }
        }
        let pieces = Task {
            defer { pings.cancel() }
            do {
                for try await piece in generation {
                    pings.cancel()
                    continuation.yield(.piece(piece))
                }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in
            pieces.cancel()
            pings.cancel()
        }
        return stream
    }
}

/// What is the same in every part of one answer.
private struct Identity: Sendable {
    let id: String
    /// Unix seconds.
    let created: Int
    let model: String
    let fingerprint: String

    init(model: String, engine: any ChatEngine) {
        id = "chatcmpl-" + UUID().uuidString.lowercased().filter { $0 != "-" }
        created = Int(Date().timeIntervalSince1970)
        self.model = model
        // Everything that the text for a seed depends on, besides the request.
        let info = engine.info
        let parts = [
            info.name, info.architecture, info.quantization, "\(info.fileBytes)", engine.kernels, "\(engine.threads)",
            version,
        ]
        fingerprint = "fp_" + String(fnv1a(parts.joined(separator: "\n").utf8), radix: 16)
    }
}

/// FNV-1a of 64 bits.
private func fnv1a(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
}
