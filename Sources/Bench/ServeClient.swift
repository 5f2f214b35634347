import Foundation
import FoundationNetworking
import Wire

/// A client of an OpenAI-compatible server, which notes when each token comes.
struct ServeClient: Sendable {
    /// One answered request.
    struct Answer: Sendable {
        var text = ""
        /// When pieces of text came, in seconds from the request on. Pieces that came together have the same time.
        var arrivals: [Double] = []
        /// From the request to the end of the answer, in seconds.
        var seconds = 0.0
        /// `nil` where the server did not say.
        var usage: ServeUsage?
    }

    /// Why there is no answer. Equal failures are equal texts.
    struct Failure: Error, Equatable, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    private let server: URL
    private let key: String?
    private let timeLimit: Duration
    private let transport: StreamingTransport

    /// - Parameters:
    ///   - server: Where the server is: with the `/v1` of its paths, or without.
    ///   - timeLimit: For a whole answer.
    init(server: URL, key: String?, timeLimit: Duration, connections: Int) {
        let last = server.pathComponents.last ?? ""
        self.server = last == "v1" ? server : server.appending(path: "v1")
        self.key = key
        self.timeLimit = timeLimit
        transport = StreamingTransport(connections: connections)
    }

    /// The first model that the server has.
    func firstModel() async throws(Failure) -> String {
        var body = Data()
        _ = try await receive(request("models", body: nil)) { data, _ in body.append(data) }
        guard let model = try? JSONDecoder().decode(ModelNames.self, from: body).data.first?.id else {
            throw Failure("the server lists no model: give one with --model")
        }
        return model
    }

    /// Streams an answer to `messages` of at most `tokens` tokens.
    func ask(_ model: String, _ messages: [ServeMessage], tokens: Int) async throws(Failure) -> Answer {
        let body = ServeRequest(model: model, messages: messages, maximumTokens: tokens)
        guard let bytes = try? encodeJSON(body) else { throw Failure("the request cannot be written as JSON") }
        var answer = Answer()
        var parser = ServerSentEventParser()
        var events: [String] = []
        var isWhole = false
        answer.seconds = try await receive(request("chat/completions", body: bytes)) { (data, time) throws(Failure) in
            do throws(ServerSentEventParser.TooLong) {
                events = try parser.push(data)
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

    private func request(_ path: String, body: Data?) -> URLRequest {
        var request = URLRequest(url: server.appending(path: path))
        request.timeoutInterval = 2 * (timeLimit / .seconds(1))  // of silence; the time limit itself comes first
        request.httpMethod = body == nil ? "GET" : "POST"
        request.httpBody = body
        if body != nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
        if let key { request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization") }
        return request
    }

    /// Hands the parts of a 200's body on, each with its time; any other status is a failure.
    /// - Returns: The seconds until the end.
    private func receive(
        _ request: URLRequest, _ part: (Data, Double) throws(Failure) -> Void
    ) async throws(Failure) -> Double {
        let clock = ContinuousClock()
        let started = clock.now
        var status: Int?
        var refusal = Data()
        do {
            for try await event in transport.send(request, timeLimit: timeLimit) {
                switch event {
                case .head(let code): status = code
                case .body(let data, _) where status != 200: refusal.append(data)
                case .body(let data, let time): try part(data, (time - started) / .seconds(1))
                }
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            let reason = (error as NSError).localizedDescription
            throw Failure(status == nil ? "no answer: \(reason)" : "the answer broke off: \(reason)")
        }
        guard let status else { throw Failure("no answer") }
        guard status == 200 else {
            let code = (try? JSONDecoder().decode(ServeChunk.self, from: refusal))?.error?.summary
            throw Failure(["HTTP \(status)", code].compactMap(\.self).joined(separator: " "))
        }
        return (clock.now - started) / .seconds(1)
    }
}

extension ServeClient.Answer {
    fileprivate mutating func add(_ event: String, at time: Double) throws(ServeClient.Failure) {
        guard let chunk = try? JSONDecoder().decode(ServeChunk.self, from: Data(event.utf8)) else {
            throw .init("an event is no chunk of a chat completion")
        }
        if let error = chunk.error { throw .init("in mid-answer: \(error.summary)") }
        if let usage = chunk.usage {
            guard usage.isPlausible else { throw .init("the usage has numbers that cannot be") }
            self.usage = usage
        }
        let delta = chunk.choices?.first?.delta
        if let text = delta?.content, !text.isEmpty {
            self.text += text
            arrivals.append(time)
        } else if let thought = delta?.reasoning, !thought.isEmpty {
            arrivals.append(time)
        }
    }
}

/// What is asked, in fields that every server knows.
private struct ServeRequest: Encodable {
    let model: String
    let messages: [ServeMessage]
    let maximumTokens: Int
    let temperature = 0
    let stream = true
    let streamOptions = ["include_usage": true]

    enum CodingKeys: String, CodingKey {
        case model, messages, temperature, stream
        case maximumTokens = "max_tokens"
        case streamOptions = "stream_options"
    }
}

struct ServeMessage: Encodable, Sendable {
    let role: String
    let content: String
}

/// What is looked at of an event or of an error's body, whoever's server it is.
private struct ServeChunk: Decodable {
    struct Choice: Decodable { let delta: Delta? }
    struct Delta: Decodable {
        let content: String?
        let reasoning: String?

        enum CodingKeys: String, CodingKey {
            case content
            case reasoning = "reasoning_content"
        }
    }
    struct Problem: Decodable {
        let message: String?
        let code: String?

        private enum CodingKeys: String, CodingKey { case message, code }

        /// Some servers send numbers as codes, some only a string as the error.
        init(from decoder: any Decoder) throws {
            let fields = try? decoder.container(keyedBy: CodingKeys.self)
            let text = try? decoder.singleValueContainer().decode(String.self)
            message = (try? fields?.decode(String.self, forKey: .message)) ?? text
            code = try? fields?.decode(String.self, forKey: .code)
        }

        /// One short line, whatever the server sends: it ends up on a terminal.
        var summary: String {
            let text = (code ?? message ?? "an error without a message").unicodeScalars
            return String(
                String.UnicodeScalarView(text.filter { $0.properties.generalCategory != .control }.prefix(100)))
        }
    }
    let choices: [Choice]?
    let usage: ServeUsage?
    let error: Problem?
}

/// The two numbers that every server's usage has.
struct ServeUsage: Decodable, Sendable {
    let promptTokens: Int
    let completionTokens: Int

    var isPlausible: Bool { [promptTokens, completionTokens].allSatisfy { (0...1 << 32).contains($0) } }

    enum CodingKeys: String, CodingKey {
        case promptTokens = "prompt_tokens"
        case completionTokens = "completion_tokens"
    }
}

private struct ModelNames: Decodable {
    struct Name: Decodable { let id: String }
    let data: [Name]
}
