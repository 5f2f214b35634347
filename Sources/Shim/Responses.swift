import Foundation
import HTTP
import LocalLLM
import Wire

extension Response {
    static func json(_ value: some Encodable, status: Int = 200) throws -> Self {
        .init(status: status, headers: ["Content-Type": "application/json"], body: .bytes(try JSON.encode(value)))
    }
}

func errorResponse(_ error: APIError) throws -> Response {
    var response = try Response.json(ErrorBody(error), status: error.status)
    if error.status == 503 || error.status == 429 { response.headers["Retry-After"] = "1" }
    return response
}

/// The answer to whatever a handler or the HTTP server threw.
@Sendable func errorResponse(_ error: any Error) -> Response {
    (try? errorResponse(APIError(reporting: error))) ?? .text("internal server error\n", status: 500)
}

extension APIError {
    /// An error as clients are told of it. What no client can do anything about is written to standard error instead.
    init(reporting error: any Error) {
        switch error {
        case let error as APIError: self = error
        case let error as RequestError:
            self.init(
                status: error.status, kind: error.status < 500 ? .invalidRequest : .server,
                message: "The request is not HTTP as it is understood here: \(error.message).")
        case let error as LanguageModelError: self.init(error)
        case let error as ModelFileError:
            // Without the path, which is nobody's business beyond this machine.
            self.init(
                status: 500, kind: .server, message: "The model's file cannot be used: \(error.message)",
                code: "model_load_failed")
        default:
            FileHandle.standardError.write(Data("shim: \(error)\n".utf8))
            self.init(status: 500, kind: .server, message: "The server failed to answer; its log says why.")
        }
    }

    private init(_ error: LanguageModelError) {
        switch error {
        case .contextSizeExceeded(let contextSize, let tokenCount):
            self.init(
                status: 400, kind: .invalidRequest,
                message: "This model's maximum context length is \(contextSize) tokens. However, your messages "
                    + "resulted in \(tokenCount) tokens. Please reduce the length of the messages.",
                param: "messages", code: "context_length_exceeded")
        case .templateFailed(let reason):
            self.init(
                status: 400, kind: .invalidRequest,
                message: "The model's chat template refused the messages: \(reason)",
                param: "messages", code: "template_failed")
        case .invalidOption(let reason):
            self.init(status: 400, kind: .invalidRequest, message: reason, code: "invalid_value")
        case .noTokenizer(let reason):
            self.init(status: 501, kind: .server, message: reason, code: "no_tokenizer")
        case .queueFull:
            self.init(
                status: 429, kind: .rateLimit, message: "\(error) Please try again in a moment.",
                code: "rate_limit_exceeded")
        case .insufficientMemory:
            self.init(status: 503, kind: .server, message: "\(error)", code: "insufficient_memory")
        case .shutDown:
            self.init(status: 503, kind: .server, message: "The server is shutting down.", code: "shutting_down")
        }
    }
}
