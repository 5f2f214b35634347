/// How keys and values are remembered.
public enum KVCacheFormat: String, CaseIterable, Sendable {
    /// Half precision. Changes the logits by 1.7e-7 (normalized mean square error, of a model with one layer).
    case f16
    /// Signed bytes with a scale for each 32 values of a head: a little more than half of the memory (53 % for heads whose
    /// width is a multiple of 32), and of what a long context makes each token read. Changes the logits by 9e-5.
    case q8_0

    /// All of them, for the help of a program.
    package static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
