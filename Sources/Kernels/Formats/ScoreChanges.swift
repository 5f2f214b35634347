/// Softcap and linear bias of attention scores, applied before the softmax.
public struct ScoreChanges {
    /// Scores s become `softcap · tanh(s / softcap)`; 0: no softcap.
    public let softcap: Float
    /// `[rows]` slopes of the linear bias (ALiBi): factor on key position minus query position; `nil`: none.
    @OptionalPointer public private(set) var slopes: UnsafePointer<Float>?
    /// `[rows]` position of the page's first token minus position of the row.
    @OptionalPointer public private(set) var offsets: UnsafePointer<Float>?

    public init(softcap: Float = 0, slopes: UnsafePointer<Float>? = nil, offsets: UnsafePointer<Float>? = nil) {
        self.softcap = softcap
        self.slopes = slopes
        self.offsets = offsets
    }

    /// Those of the rows from `row` on.
    public func from(_ row: Int) -> ScoreChanges {
        ScoreChanges(softcap: softcap, slopes: slopes.map { $0 + row }, offsets: offsets.map { $0 + row })
    }

    public var isEmpty: Bool { softcap == 0 && slopes == nil }
}
