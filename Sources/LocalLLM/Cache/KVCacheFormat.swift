/// Format of keys and values in the KV cache.
public enum KVCacheFormat: String, CaseIterable, Sendable {
    /// Half precision. Changes the logits by 1.7e-7 (normalized mean square error, measured on a model with one layer).
    case f16
    /// Signed bytes with a scale per 32 values of a head: a little more than half of the memory (53 % for heads whose
    /// width is a multiple of 32) and of the memory traffic at long contexts. Changes the logits by 9e-5.
    case q8_0

    /// Names of all formats, for a program's help text.
    package static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
