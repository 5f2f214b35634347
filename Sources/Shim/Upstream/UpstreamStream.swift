import Foundation
import HTTP
import JSON
import Wire

/// Relays an event stream unchanged and only in whole events. If the upstream breaks off, the client can parse the
/// error event that follows.
struct UpstreamStream: Sendable {
    private let reply: UpstreamReply
    private let endpoint: UpstreamEndpoint
    private var relay: EventRelay

    /// - Parameter key: The upstream's key, removed from error events.
    init(_ reply: UpstreamReply, _ endpoint: UpstreamEndpoint, hiding key: String?) {
        self.reply = reply
        self.endpoint = endpoint
        relay = EventRelay(hiding: key)
    }

    /// Waits for the first event, so that an earlier error becomes a plain HTTP error. Later events are read as the
    /// client takes them (backpressure).
    func response(_ trace: RequestTrace) async throws -> Response {
        let type = reply.response.headers["Content-Type"]?.lowercased() ?? ""
        guard type.utf8.starts(with: "text/event-stream".utf8) else {
            throw reply.failsForRequest(.upstream("The upstream API did not answer with a stream."))
        }
        var beginning = self
        guard let first = try await beginning.next(), !first.isEmpty else {
            throw reply.failsForRequest(.upstream("The upstream API's stream is empty."))
        }
        reply.begins()
        return Response(
            status: 200, headers: .ofEventStream,
            body: .stream { [beginning] writer in
                var rest = beginning
                do {
                    try await writer.write(first)
                    while let events = try await rest.next() { try await writer.write(events) }
                } catch  where !(error is ConnectionError) {
                    // Cancellation means that the client disconnected, which gets no event, or that the server stops.
                    let error = APIError(reporting: error is CancellationError ? ServerStopped() : error)
                    trace.failed(error)
                    try await writer.write(endpoint.event(for: error))
                }
            })
    }

    /// The next event; `nil` at the proper end of the stream.
    private mutating func next() async throws -> [UInt8]? {
        do {
            while !relay.isDone {
                if let event = try relay.next() { return event }
                guard let piece = try await reply.next() else {
                    let rest = try relay.end()
                    guard relay.isDone || !endpoint.saysWhenItEnds else { throw APIError(ClientError.lost) }
                    relay.isDone = true
                    return rest
                }
                relay.append(piece)
            }
        } catch let error as APIError {
            throw reply.fails(error)
        }
        reply.succeeds()
        return nil
    }
}

extension UpstreamEndpoint {
    /// The event that ends a stream with an error.
    fileprivate func event(for error: APIError) throws -> [UInt8] {
        switch self {
        case .messages: ServerSentEvent.named("error", try JSON.encode(MessagesErrorBody(error)))
        case .chat, .completions, .messageTokens, .embeddings, .decisions, .images, .imageEdits, .imageVariations:
            ServerSentEvent.data(try JSON.encode(ErrorBody(error)))
        case .responses:
            ServerSentEvent.named("error", try JSON.encode(ResponseErrorEvent(error, sequenceNumber: nil)))
        }
    }
}
