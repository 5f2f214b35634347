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
    /// Names of the options set here that no service's API has.
    var fieldsBeyondServices: [String] {
        let isSet: [(String, Bool)] = [
            ("min_p", minP != nil), ("typical_p", typicalP != nil),
            ("repetition_penalty", repetitionPenalty != nil), ("logit_bias", !logitBias.isEmpty),
            ("logprobs", topLogprobs != nil), ("top_n_sigma", topNSigma != nil), ("xtc_probability", xtc != nil),
            ("dry_multiplier", dry != nil), ("dynatemp_range", dynamicTemperature != nil),
            ("mirostat", mirostat != nil), ("stop_token_ids", !stopTokens.isEmpty),
            ("min_tokens", minimumTokens > 0), ("ignore_eos", ignoresEndOfSequence), ("lora", adapterScales != nil),
        ]
        return isSet.filter(\.1).map(\.0)
    }
}

extension [String] {
    /// A warning for each field that is not sent.
    var warnings: [String] { map { "\($0): not sent, the upstream's API has no such field" } }
}
