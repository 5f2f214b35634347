import Foundation
package import HTTP
import JSON
import LocalLLM
import Wire

extension Response {
    package static func json(_ value: some Encodable, status: Int = 200) throws -> Self {
        .init(status: status, headers: ["Content-Type": "application/json"], body: .bytes(try JSON.encode(value)))
    }
}

/// The API in whose form a route's errors are written.
package enum ErrorForm: Sendable {
    case openAI, anthropic, ollama

    func bytes(_ error: APIError) throws -> [UInt8] {
        switch self {
        case .openAI: try JSON.encode(ErrorBody(error))
        case .anthropic: try JSON.encode(MessagesErrorBody(error))
        case .ollama: try JSON.encode(OllamaErrorBody(error))
        }
    }
}

func errorResponse(_ error: APIError, in form: ErrorForm = .openAI) throws -> Response {
    var response = Response(
        status: error.status, headers: ["Content-Type": "application/json"], body: .bytes(try form.bytes(error)))
    if error.status == 503 || error.status == 429 { response.headers["Retry-After"] = "\(error.retryAfter ?? 1)" }
    // OpenAI's SDKs retry every 5xx by default; timeouts and missing features would only fail again.
    if error.status == 504 || error.status == 501 { response.headers["x-should-retry"] = "false" }
    if error.status == 401 { response.headers["WWW-Authenticate"] = "Bearer" }
    return response
}

/// The response to an error of a handler or of the HTTP server. Records its code and cause for the log.
@Sendable func errorResponse(_ error: any Error, _ notes: any Sendable) -> Response {
    errorResponse(error, notes as? RequestTrace, in: .openAI)
}

func errorResponse(_ error: any Error, _ trace: RequestTrace?, in form: ErrorForm) -> Response {
    let error = APIError(reporting: error)
    trace?.failed(error)
    return (try? errorResponse(error, in: form)) ?? .text("internal server error\n", status: 500)
}

extension RequestTrace {
    func failed(_ error: APIError) {
        self.code = error.code
        if let cause = error.cause { self.error = cause }
    }
}

extension APIError {
    /// The error that clients get. An unexpected error becomes a 500 with its description as `cause`.
    ///
    /// - Parameter promptField: Field to name in the error if the prompt is too long.
    init(reporting error: any Error, promptField: String = "messages") {
        switch error {
        case let error as APIError: self = error
        case let error as RequestError: self.init(error)
        case let error as ContentFormatError:
            self.init(
                status: 400, kind: .invalidRequest, message: error.description, param: error.field,
                code: "invalid_schema")
        case let error as NotSentError:
            self.init(
                status: 400, kind: .invalidRequest, message: error.description, param: error.field,
                code: "not_supported_by_upstream")
        case let error as GuardrailViolation: self = .contentFiltered(error.message)
        case is ServerStopped: self.init(LocalModelError.shutDown, promptField)
        case let error as LocalModelError: self.init(error, promptField)
        case let error as ImageFileError where error.isLibraryMissing:
            self.init(status: 501, kind: .server, message: error.description, code: "image_library_missing")
        case let error as ImageFileError:
            self.init(
                status: 400, kind: .invalidRequest, message: error.description, param: promptField,
                code: "invalid_image")
        case let error as ModelFileError:
            // Without the path, which clients should not see.
            self.init(
                status: 500, kind: .server, message: "The model's file cannot be used: \(error.message)",
                code: "model_load_failed")
        default:
            self.init(status: 500, kind: .server, message: "Internal server error. See the server's log.")
            cause = "\(error)"
        }
    }

    /// A content filter has refused a prompt or an answer.
    static func contentFiltered(_ message: String) -> Self {
        .init(status: 400, kind: .invalidRequest, message: message, code: "content_filter")
    }

    private init(_ error: RequestError) {
        let code =
            switch error.status {
            case 408: "request_timeout"
            case 413: "request_too_large"
            case 414: "uri_too_long"
            case 431: "headers_too_large"
            case 429: "too_many_bytes"
            case 503: "server_busy"
            default: "malformed_request"
            }
        self.init(
            status: error.status,
            kind: error.status == 429 ? .rateLimit : error.status < 500 ? .invalidRequest : .server,
            message: "The request was refused: \(error.message).", code: code)
    }

    private init(_ error: LocalModelError, _ promptField: String) {
        switch error {
        case .contextSizeExceeded(let contextSize, let tokenCount):
            self.init(
                status: 400, kind: .invalidRequest,
                message: "This model's maximum context length is \(contextSize) tokens. However, your \(promptField) "
                    + "resulted in \(tokenCount) tokens. Please reduce the length of the \(promptField).",
                param: promptField, code: "context_length_exceeded")
        case .templateFailed(let reason):
            self.init(
                status: 400, kind: .invalidRequest,
                message: "The model's chat template refused the messages: \(reason)",
                param: promptField, code: "template_failed")
        case .templateStopped(let reason):
            self.init(
                status: 400, kind: .invalidRequest, message: "The model's chat template takes too much: \(reason)",
                param: promptField, code: "template_failed")
        case .invalidOption(let reason):
            self.init(status: 400, kind: .invalidRequest, message: reason, code: "invalid_value")
        case .noTokenizer(let reason):
            self.init(status: 501, kind: .server, message: reason, code: "no_tokenizer")
        case .wrongKind(let reason):
            self.init(status: 400, kind: .invalidRequest, message: reason, param: "model", code: "unsupported_model")
        case .resultNotFinite:
            self.init(status: 500, kind: .server, message: "\(error)", code: "result_not_finite")
        case .queueFull:
            self.init(
                status: 429, kind: .rateLimit, message: "\(error) Please try again in a moment.",
                code: "rate_limit_exceeded")
        case .insufficientMemory:
            self.init(status: 503, kind: .server, message: "\(error)", code: "insufficient_memory")
        case .constraintFailed(let reason):
            self.init(status: 400, kind: .invalidRequest, message: reason, code: "constraint_failed")
        case .shutDown:
            self.init(status: 503, kind: .server, message: "The server is shutting down.", code: "shutting_down")
        }
    }
}
