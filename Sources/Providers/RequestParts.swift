import Constraint
import Foundation
import JSON
import LocalLLM
import Template
import Wire

/// What an answer has to be, as far as services can be told.
enum SentFormat {
    case text, object
    case schema(JSON)
}

extension ConversationRequest {
    /// - Throws: `NotSentError` for a format that only an engine of one's own can enforce, and for a template: they decide
    ///   what the answer is.
    var sentFormat: SentFormat {
        get throws {
            if rendering.template != nil {
                throw NotSentError("chat_template", "the service uses its model's own template")
            }
            guard let format else { return .text }
            switch format.source {
            case .jsonObject: return .object
            case .jsonSchema(let text, _):
                do { return .schema(try JSON.decode(JSON.self, from: Array(text.utf8))) } catch {
                    throw NotSentError(format.name, error.message)
                }
            case .regex, .grammar, .lark, .choice:
                throw NotSentError(format.name, "the service takes JSON Schema only; only local models follow this")
            }
        }
    }
}

extension SamplingOptions {
    /// Names of the options set here that a body for a service does not have.
    func fieldsMissing(in body: JSON.Object) -> [String] {
        let isUnsent = { (binding: SamplingBinding) in
            !binding.field.isOwn && binding.get(self) != nil && !binding.field.names.contains { body[$0.name] != nil }
        }
        return SamplingBinding.all.filter(isUnsent).map(\.field.name) + (topLogprobs == nil ? [] : ["logprobs"])
    }
}

extension [String] {
    /// A warning for each field that is not sent.
    var warnings: [String] { map { "\($0): not sent, the upstream's API has no such field" } }
}
