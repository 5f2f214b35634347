import HTTP
import Wire

/// Writes a streamed answer in the shape of one endpoint.
protocol AnswerEncoder: Sendable {
    /// What comes before any delta.
    mutating func begin() throws -> [UInt8]
    mutating func encode(_ delta: ChoiceDelta) throws -> [UInt8]
    /// What comes once all choices are whole.
    mutating func end(_ choices: [ChoiceDelta.Finish]) throws -> [UInt8]
    /// What comes in place of the rest.
    mutating func fail(_ error: APIError) throws -> [UInt8]
}

extension AnswerEncoder {
    mutating func fail(_ error: APIError) throws -> [UInt8] { ServerSentEvent.data(try JSON.encode(ErrorBody(error))) }
}

extension Response {
    /// Waits for the first event, so that an error before it is still a plain HTTP error; but not so long that the
    /// client, or a proxy between, gives up.
    static func eventStream(
        _ events: AnswerEvents, choices: Int, as encoder: some AnswerEncoder
    ) async throws -> Response {
        var beginning = events.makeAsyncIterator()
        guard let first = try await beginning.next() else { throw CancellationError() }
        let headers: Headers = ["Content-Type": "text/event-stream", "Cache-Control": "no-cache"]
        return Response(
            status: 200, headers: headers,
            body: .stream { writer in
                var stream = AnswerStream(encoder: encoder, writer: writer)
                do {
                    try await writer.write(stream.encoder.begin())
                    try await stream.send(first)
                    for try await event in events { try await stream.send(event) }
                    guard stream.finished.count == choices else { throw CancellationError() }
                    try await writer.write(stream.encoder.end(stream.finished))
                } catch  where !(error is ConnectionError) {
                    // The status is long sent: all that is left is to say it in the stream, and end that. What is cancelled is
                    // so because the client has left, who hears nothing of it, or because the server stops.
                    let error = error is CancellationError ? ServerStopped() : error
                    try await writer.write(stream.encoder.fail(APIError(reporting: error)))
                }
            })
    }
}

/// A streamed answer while it is written.
private struct AnswerStream<Encoder: AnswerEncoder> {
    var encoder: Encoder
    let writer: ResponseWriter
    var finished: [ChoiceDelta.Finish] = []

    mutating func send(_ event: AnswerEvent) async throws {
        switch event {
        case .ping: try await writer.write(ServerSentEvent.ping)
        case .delta(let delta):
            if let finish = delta.finish { finished.append(finish) }
            try await writer.write(encoder.encode(delta))
        }
    }
}
