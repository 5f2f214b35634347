import Foundation
import HTTP
import Wire

/// Passes an event stream on, byte for byte and one whole event at least at a time: where the upstream breaks off, what
/// the client has is whole, and the error that follows can be read.
struct UpstreamStream: Sendable {
    private let reply: UpstreamReply
    private let endpoint: UpstreamEndpoint
    private var relay: EventRelay

    /// - Parameter key: Taken out of an error that is an event.
    init(_ reply: UpstreamReply, _ endpoint: UpstreamEndpoint, hiding key: String?) {
        self.reply = reply
        self.endpoint = endpoint
        relay = EventRelay(hiding: key)
    }

    /// Waits for the first event, so that an error before it is still a plain HTTP error. What comes after is read when the
    /// client has taken what came before.
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
                    // What is cancelled is so because the client has left, who hears nothing of it, or the server stops.
                    let error = APIError(reporting: error is CancellationError ? ServerStopped() : error)
                    trace.failed(error)
                    try await writer.write(endpoint.event(for: error))
                }
            })
    }

    /// The next event, or `nil` when the stream has come to its proper end.
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
    /// The event that says in a stream that it will not be whole.
    fileprivate func event(for error: APIError) throws -> [UInt8] {
        switch self {
        case .chat, .completions, .embeddings, .images: ServerSentEvent.data(try JSON.encode(ErrorBody(error)))
        case .responses:
            ServerSentEvent.named("error", try JSON.encode(ResponseErrorEvent(error, sequenceNumber: nil)))
        }
    }
}
