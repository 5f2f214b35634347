/// What changes attention's scores before the softmax.
public struct ScoreChanges {
    /// Scores s become `softcap · tanh(s / softcap)`; 0: they stay.
    public let softcap: Float
    /// Each row's linear bias (ALiBi): its slope times the distance from the query to the key is added; `nil`: none.
    public let slopes: UnsafePointer<Float>?
    /// `[rows]` position of the page's first token, less the row's.
    public let offsets: UnsafePointer<Float>?

    public init(softcap: Float = 0, slopes: UnsafePointer<Float>? = nil, offsets: UnsafePointer<Float>? = nil) {
        self.softcap = softcap
        self.slopes = slopes
        self.offsets = offsets
    }

    public var isEmpty: Bool { softcap == 0 && slopes == nil }
}
