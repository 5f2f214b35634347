/// Format of keys and values in the KV cache.
public enum KVCacheFormat: String, CaseIterable, Sendable {
    /// Half precision. Changes the logits by 1.7e-7 (normalized mean square error, measured on a model with one layer).
    case f16
    /// Signed bytes with a scale per 32 values of a head: a little more than half of the memory (53 % for heads whose
    /// width is a multiple of 32) and of the memory traffic at long contexts. Changes the logits by 9e-5.
    case q8_0
    /// Four-bit codes of unequal steps with a scale per 32 values: 28 % of the memory for heads whose width is a multiple
    /// of 32. Heads are rotated first, so that single large values do not coarsen the others. Changes the logits by
    /// 7.5e-3 (a model with five layers and heads of 64).
    case q4

    /// Names of all formats, for a program's help text.
    package static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
