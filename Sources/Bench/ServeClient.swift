import CommandLineParsing
import Foundation
import HTTP
import JSON
import Wire

/// Client of an OpenAI-compatible server that records the arrival time of each token.
struct ServeClient: Sendable {
    /// One answered request.
    struct Answer: Sendable {
        var text = ""
        /// Arrival times of pieces of text, in seconds since the request. Pieces that arrive together have the same
        /// time.
        var arrivals: [Double] = []
        /// Seconds from the request to the end of the answer.
        var seconds = 0.0
        /// `nil` if the server sends none.
        var usage: ReceivedChat.Usage?
    }

    /// Why a request failed. Equal failures have equal texts.
    struct Failure: Error, Equatable, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    private let server: HTTPClient
    /// Percent-encoded prefix of all routes.
    private let path: String
    private let key: String?
    /// Maximum bytes of an answer, since an endless one would fill the memory.
    private static let mostBytes = 64 << 20

    /// - Parameters:
    ///   - server: URL of the server, with or without `/v1`.
    ///   - timeLimit: Deadline of a whole answer.
    /// - Throws: `UsageError`; `NetworkError` if the system's certificates cannot be read.
    init(server url: URL, key: String?, timeLimit: Duration) throws {
        var limits = HTTPClient.Limits()
        (limits.silence, limits.whole) = (timeLimit, timeLimit)
        guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let server = try HTTPClient(parts, limits: limits)
        else { throw UsageError("--url: expected a URL such as http://127.0.0.1:8080, found '\(url)'") }
        self.server = server
        self.key = key
        var path = parts.percentEncodedPath
        while path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        self.path = path.hasSuffix("/v1") ? path : path + "/v1"
    }

    /// The first model that the server lists.
    func firstModel() async throws(Failure) -> String {
        var body: [UInt8] = []
        _ = try await receive("GET", "/models") { piece, _ in body += piece }
        guard let model = try? JSON.decode(ModelNames.self, from: body).data.first?.id else {
            throw Failure("the server lists no model; use --model")
        }
        return model
    }

    /// Streams an answer to `messages` of at most `tokens` tokens.
    func ask(_ model: String, _ messages: [RoleAndContent], tokens: Int) async throws(Failure) -> Answer {
        let messages = messages.map { RequestMessage(role: $0.role, content: .text($0.content)) }
        let body = ChatQuestion(model: model, messages: messages, maximumTokens: tokens, temperature: 0)
        guard let bytes = try? encodeJSON(body) else { throw Failure("the request cannot be written as JSON") }
        var answer = Answer()
        var parser = ServerSentEventParser()
        var events: [String] = []
        var isWhole = false
        answer.seconds = try await receive("POST", "/chat/completions", Array(bytes)) { (piece, time) throws(Failure) in
            do throws(ServerSentEventParser.TooLong) {
                events = try parser.push(piece)
            } catch {
                throw Failure("an event is over \(error.limit) bytes")
            }
            for event in events where !isWhole {
                isWhole = event == "[DONE]"
                if !isWhole { try answer.add(event, at: time) }
            }
        }
        guard isWhole else { throw Failure("the answer ended before [DONE]") }
        return answer
    }

    /// Passes the pieces of a 200 response to `part` with their times; any other status is a failure.
    ///
    /// - Returns: Seconds until the end of the response.
    private func receive(
        _ method: String, _ route: String, _ body: [UInt8] = [],
        _ part: (ArraySlice<UInt8>, Double) throws(Failure) -> Void
    ) async throws(Failure) -> Double {
        var headers: Headers = [:]
        if !body.isEmpty { headers["Content-Type"] = "application/json" }
        headers["Authorization"] = key.map { "Bearer \($0)" }
        let clock = ContinuousClock()
        let started = clock.now
        var status: Int?
        do {
            // Connections are kept alive, as in OpenAI's SDKs; a repeated request does not affect the measurement.
            let answer = try await server.send(method, path + route, headers: headers, body: body, mayRepeat: true)
            status = answer.status
            var (bytes, refusal) = (0, [UInt8]())
            while let piece = try await answer.next() {
                bytes += piece.count
                guard bytes <= Self.mostBytes else { throw Failure("the answer is over \(Self.mostBytes >> 20) MiB") }
                if status == 200 { try part(piece, (clock.now - started) / .seconds(1)) } else { refusal += piece }
            }
            guard status == 200 else {
                let code = (try? JSON.decode(ReceivedChat.self, from: refusal))?.error?.summary
                throw Failure(["HTTP \(answer.status)", code].compactMap(\.self).joined(separator: " "))
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(status == nil ? "no answer: \(error)" : "the connection dropped mid-answer: \(error)")
        }
        return (clock.now - started) / .seconds(1)
    }
}

extension ServeClient.Answer {
    fileprivate mutating func add(_ event: String, at time: Double) throws(ServeClient.Failure) {
        guard let chunk = try? JSON.decode(ReceivedChat.self, from: Array(event.utf8)) else {
            throw .init("an event is not a chat completion chunk")
        }
        if let error = chunk.error { throw .init("in mid-answer: \(error.summary)") }
        if let usage = chunk.usage {
            guard usage.isPlausible else { throw .init("the usage has numbers that cannot be") }
            self.usage = usage
        }
        let choice = chunk.choices.first
        if let text = choice?.content, !text.isEmpty {
            self.text += text
            arrivals.append(time)
        } else if let thought = choice?.thought, !thought.isEmpty {
            arrivals.append(time)
        }
    }
}

extension ReceivedError {
    /// One short line without control characters, safe for a terminal.
    fileprivate var summary: String {
        let text = (code ?? message ?? "an error without a message").unicodeScalars
        return String(String.UnicodeScalarView(text.filter { $0.properties.generalCategory != .control }.prefix(100)))
    }
}

extension ReceivedChat.Usage {
    fileprivate var isPlausible: Bool { [promptTokens, completionTokens].allSatisfy { (0...1 << 32).contains($0) } }
}

private struct ModelNames: Decodable {
    struct Name: Decodable { let id: String }
    let data: [Name]
}
