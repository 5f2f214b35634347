import HTTP
import JSON
import LocalLLM
import Wire

/// Encodes an answer in the form of one endpoint, whole or streamed.
protocol AnswerEncoder: Sendable {
    associatedtype Whole: Encodable

    /// Of a stream.
    static var mediaType: String { get }
    mutating func whole(_ choices: [ChoiceDelta]) throws -> Whole
    /// The arrays that are empty in `whole` and may be long, by key.
    func lists(_ choices: [ChoiceDelta]) -> [String: [LongList]]
    /// The events before the first delta.
    mutating func begin() throws -> [UInt8]
    mutating func encode(_ delta: ChoiceDelta) throws -> [UInt8]
    /// The events after the last delta.
    mutating func end(_ choices: [ChoiceDelta.Finish]) throws -> [UInt8]
    /// The event for an error after `begin`.
    mutating func fail(_ error: APIError) throws -> [UInt8]
    /// The event for an error before `begin`.
    static func failure(_ error: APIError) throws -> [UInt8]
    /// What keeps a silent stream open; `nil`: nothing can be written yet.
    ///
    /// - Parameter begun: `nil` before `begin`.
    static func ping(_ begun: Self?) throws -> [UInt8]?
}

extension AnswerEncoder {
    static var mediaType: String { "text/event-stream" }

    func lists(_: [ChoiceDelta]) -> [String: [LongList]] { [:] }

    mutating func fail(_ error: APIError) throws -> [UInt8] { try Self.failure(error) }

    static func failure(_ error: APIError) throws -> [UInt8] { ServerSentEvent.data(try JSON.encode(ErrorBody(error))) }

    static func ping(_: Self?) -> [UInt8]? { ServerSentEvent.ping }
}

extension Response {
    /// The answer whole, or as a stream of events if the client asked for one.
    static func answer(
        _ events: ProgressStream<some AnswerEncoder>, streams: Bool, _ trace: RequestTrace
    ) async throws -> Response {
        if streams { return try await eventStream(events, trace) }
        var (encoder, choices) = try await collect(events)
        return try .json(encoder.whole(choices), filling: encoder.lists(choices))
    }

    /// Waits for the first delta or ping, so that an earlier error becomes a plain HTTP error, but not so long that the
    /// client or a proxy times out.
    private static func eventStream<Encoder: AnswerEncoder>(
        _ events: ProgressStream<Encoder>, _ trace: RequestTrace
    ) async throws -> Response {
        var iterator = events.makeAsyncIterator()
        var beginning: [AnswerProgress<Encoder>] = []
        repeat {
            guard let event = try await iterator.next() else { throw CancellationError() }
            if beginning.isEmpty, case .ping = event, try Encoder.ping(nil) == nil { continue }
            beginning.append(event)
        } while beginning.last?.isBeginning ?? true
        return Response(
            status: 200, headers: .ofStream(Encoder.mediaType),
            body: .stream { [beginning] writer in
                var stream = AnswerStream<Encoder>(writer: writer)
                do {
                    for event in beginning { try await stream.send(event) }
                    for try await event in events { try await stream.send(event) }
                    try await stream.end()
                } catch  where !(error is ConnectionError) {
                    // The status is already sent, so the error becomes an event. Cancellation means that the client
                    // disconnected, which gets no event, or that the server stops.
                    let error = APIError(reporting: error is CancellationError ? ServerStopped() : error)
                    trace.failed(error)
                    try await stream.fail(error)
                }
            })
    }
}

extension Headers {
    static let ofEventStream = ofStream("text/event-stream")

    /// `X-Accel-Buffering` keeps nginx from buffering events.
    static func ofStream(_ mediaType: String) -> Headers {
        ["Content-Type": mediaType, "Cache-Control": "no-cache", "X-Accel-Buffering": "no"]
    }
}

extension AnswerProgress {
    fileprivate var isBeginning: Bool { if case .begun = self { true } else { false } }
}

/// Writes a streamed answer.
private struct AnswerStream<Encoder: AnswerEncoder> {
    let writer: ResponseWriter
    private var encoder: Encoder?
    private var choices = 0
    private var finished: [ChoiceDelta.Finish] = []

    init(writer: ResponseWriter) { self.writer = writer }

    mutating func send(_ event: AnswerProgress<Encoder>) async throws {
        switch event {
        case .begun(let begun, let count):
            (encoder, choices) = (begun, count)
            try await write { try $0.begin() }
        case .ping: if let ping = try Encoder.ping(encoder) { try await writer.write(ping) }
        case .delta(let delta):
            if let finish = delta.finish { finished.append(finish) }
            try await write { try $0.encode(delta) }
        }
    }

    mutating func end() async throws {
        guard encoder != nil, finished.count == choices else { throw CancellationError() }
        let finished = finished
        try await write { try $0.end(finished) }
    }

    mutating func fail(_ error: APIError) async throws {
        try await writer.write(try encoder?.fail(error) ?? Encoder.failure(error))
    }

    private mutating func write(_ bytes: (inout Encoder) throws -> [UInt8]) async throws {
        guard var encoder else { return }
        let bytes = try bytes(&encoder)
        self.encoder = encoder
        try await writer.write(bytes)
    }
}
