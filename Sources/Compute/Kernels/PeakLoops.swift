import KernelsPortable

/// Loops of multiplications and additions, to measure the processor's peak speed; the tiers' functions document them.
package struct PeakLoops: Sendable {
    package typealias Loop = @Sendable (_ rounds: Int) -> Void

    /// Operations per round of each loop.
    package let operations: (floats: Int, words: Int, bytes: Int)
    package let floats: Loop
    package var words: Loop
    package var bytes: Loop
    /// Reads memory with loads as wide as the kernels'.
    package var read: @Sendable (_ memory: UnsafeRawPointer, _ bytes: Int) -> UInt64 = KernelsPortable.readAll

    package init(
        operations: (floats: Int, words: Int, bytes: Int), floats: @escaping Loop, words: @escaping Loop,
        bytes: @escaping Loop
    ) {
        self.operations = operations
        self.floats = floats
        self.words = words
        self.bytes = bytes
    }

    static let portable = PeakLoops(
        operations: (
            KernelsPortable.floatOperationsOfRound, KernelsPortable.wordOperationsOfRound,
            KernelsPortable.byteOperationsOfRound
        ),
        floats: { _ = KernelsPortable.multiplyAddFloats(rounds: $0, 0.5) },
        words: { _ = KernelsPortable.multiplyAddWords(rounds: $0, 3) },
        bytes: { _ = KernelsPortable.multiplyAddBytes(rounds: $0, 3) })
}
