import JSON

@testable import Wire

/// The fields that every chat request has.
let minimal = #""model":"m","messages":[{"role":"user","content":"hi"}]"#

func decode(_ body: String) throws(APIError) -> ChatCompletionRequest {
    try JSON.decode(ChatCompletionRequest.self, from: Array(body.utf8)).validated()
}

func refusal(_ body: String) -> APIError? {
    do {
        _ = try decode(body)
        return nil
    } catch {
        return error
    }
}
