/// One page of keys and values, of widths D and Dv, for 32 query rows side by side; see `PageAttention` for rows apart.
///
/// A register then holds numbers of 16 rows, keys and values are broadcast to them, and the softmax needs no sum across
/// lanes.
public struct BlockAttention {
    /// Rows of a block.
    public static let rows = 32
    /// `[D][32]` queries, already scaled by 1/√D.
    public var queries: UnsafePointer<Float>
    /// `[Dv][32]` the unnormalized outputs so far.
    public var outputs: UnsafeMutablePointer<Float>
    /// `[32]` the tokens of the page that each row attends to: `first[i] ..< end[i]`. Nothing else of a row that attends to
    /// none is read.
    public var first: UnsafePointer<Int32>
    public var end: UnsafePointer<Int32>
    /// `32 · (D + Dv)` floats, converted by `widenHalves` or `widenQuantized`.
    public var page: UnsafePointer<Float>
    public var keyWidth: Int
    public var valueWidth: Int
    /// `[32]` running maxima and sums; initially `-infinity` and 0.
    public var maxima: UnsafeMutablePointer<Float>
    public var sums: UnsafeMutablePointer<Float>
    /// Scratch of `32 · 32` floats.
    public var scratch: UnsafeMutablePointer<Float>
    /// Applied to the scores before the softmax.
    public var changes: ScoreChanges

    @inlinable
    public init(
        queries: UnsafePointer<Float>, outputs: UnsafeMutablePointer<Float>, first: UnsafePointer<Int32>,
        end: UnsafePointer<Int32>, page: UnsafePointer<Float>, keyWidth: Int, valueWidth: Int,
        maxima: UnsafeMutablePointer<Float>, sums: UnsafeMutablePointer<Float>, scratch: UnsafeMutablePointer<Float>,
        changes: ScoreChanges = ScoreChanges()
    ) {
        (self.queries, self.outputs, self.first, self.end) = (queries, outputs, first, end)
        (self.page, self.keyWidth, self.valueWidth) = (page, keyWidth, valueWidth)
        (self.maxima, self.sums, self.scratch, self.changes) = (maxima, sums, scratch, changes)
    }
}
