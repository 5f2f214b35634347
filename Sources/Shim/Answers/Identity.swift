import Foundation
import LocalLLM
import Wire

extension AnswerIdentity {
    /// - Parameters:
    ///   - prefix: Kind of answer, at the start of the id: `chatcmpl-`, `cmpl-`, `resp_`.
    ///   - model: `nil` if the upstream answers.
    init(prefix: String, id: String, model: (any LanguageModel)?) {
        // Everything besides the request that determines the text for a given seed.
        var parts = [id, version]
        if let model {
            let info = model.info
            parts = [
                info.name, info.architecture, info.quantization, "\(info.fileBytes)", model.kernels,
                "\(model.threads)", version,
            ]
        }
        self.init(
            id: .unique(prefix), created: Int(Date().timeIntervalSince1970), model: id,
            systemFingerprint: "fp_" + String(fnv1a(parts.joined(separator: "\n").utf8), radix: 16))
    }
}

/// 64-bit FNV-1a hash.
func fnv1a(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
}
