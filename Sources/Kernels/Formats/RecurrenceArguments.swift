// What the kernels of recurrent layers compute, and their arguments.

/// `c[i][j] = decay[i]·c[i][j] + Σₚ a(i, p)·b[p][j]` for small matrices.
public struct SmallProduct {
    /// `a(i, p)` is `a[i·aRow + p·aColumn]`, so that a transposed matrix needs no copy.
    public var a: UnsafePointer<Float>
    public var aRow: Int
    public var aColumn: Int
    /// `[depth][columns]`, rows `bStride` apart.
    public var b: UnsafePointer<Float>
    public var bStride: Int
    /// Factors on the rows of `c`, `decayStride` apart (0: one for all); `nil`: `c` is overwritten.
    @OptionalPointer public var decay: UnsafePointer<Float>?
    public var decayStride: Int
    /// `[rows][columns]`, rows `cStride` apart.
    public var c: UnsafeMutablePointer<Float>
    public var cStride: Int
    public var rows: Int
    public var depth: Int
    public var columns: Int

    @inlinable
    public init(
        a: UnsafePointer<Float>, aRow: Int, aColumn: Int = 1, b: UnsafePointer<Float>, bStride: Int,
        decay: UnsafePointer<Float>? = nil, decayStride: Int = 0, c: UnsafeMutablePointer<Float>, cStride: Int,
        rows: Int, depth: Int, columns: Int
    ) {
        (self.a, self.aRow, self.aColumn) = (a, aRow, aColumn)
        (self.b, self.bStride, self.decay, self.decayStride) = (b, bStride, decay, decayStride)
        (self.c, self.cStride, self.rows, self.depth, self.columns) = (c, cStride, rows, depth, columns)
    }
}

/// Rows that are multiplied elementwise by `decay`, and their dot products with `x` before and with `y` after.
public struct RowDecay {
    /// `[count][width]`.
    public var rows: UnsafeMutablePointer<Float>
    public var count: Int
    public var width: Int
    public var decay: UnsafePointer<Float>
    public var x: UnsafePointer<Float>
    /// `rowⱼ·x` before the decay.
    public var before: UnsafeMutablePointer<Float>
    public var y: UnsafePointer<Float>
    /// `rowⱼ·y` after it.
    public var after: UnsafeMutablePointer<Float>

    @inlinable
    public init(
        rows: UnsafeMutablePointer<Float>, count: Int, width: Int, decay: UnsafePointer<Float>, x: UnsafePointer<Float>,
        before: UnsafeMutablePointer<Float>, y: UnsafePointer<Float>, after: UnsafeMutablePointer<Float>
    ) {
        (self.rows, self.count, self.width, self.decay) = (rows, count, width, decay)
        (self.x, self.before, self.y, self.after) = (x, before, y, after)
    }
}

/// One output of a depthwise causal convolution: `y[c] = bias[c] + Σⱼ weights[j][c]·inputs[j][c]`.
public struct Convolution {
    /// `[taps]` rows of `channels` floats, oldest first.
    public var inputs: UnsafePointer<UnsafePointer<Float>>
    /// `[taps][channels]`.
    public var weights: UnsafePointer<Float>
    @OptionalPointer public var bias: UnsafePointer<Float>?
    public var taps: Int
    public var channels: Int
    /// Whether SiLU follows.
    public var silu: Bool
    public var y: UnsafeMutablePointer<Float>

    @inlinable
    public init(
        inputs: UnsafePointer<UnsafePointer<Float>>, weights: UnsafePointer<Float>, bias: UnsafePointer<Float>?,
        taps: Int, channels: Int, silu: Bool, y: UnsafeMutablePointer<Float>
    ) {
        (self.inputs, self.weights, self.bias) = (inputs, weights, bias)
        (self.taps, self.channels, self.silu, self.y) = (taps, channels, silu, y)
    }
}

/// Mamba's selective scan (Gu and Dao 2023) over some channels, each with `states` state values:
///
///     h[n][c] = exp(Δ[t][c]·A[n][c])·h[n][c] + Δ[t][c]·B[t][n]·x[t][c]
///     y[t][c] = Σₙ C[t][n]·h[n][c] + D[c]·x[t][c]
public struct SelectiveScan {
    /// `[tokens]` rows of `channels` floats, `stride` apart.
    public var x: UnsafePointer<Float>
    /// Likewise.
    public var delta: UnsafePointer<Float>
    public var stride: Int
    /// `[tokens]` rows of `states` floats, `selectStride` apart.
    public var b: UnsafePointer<Float>
    /// Likewise.
    public var c: UnsafePointer<Float>
    public var selectStride: Int
    /// `[states]` rows of `channels` floats, `stateStride` apart.
    public var a: UnsafePointer<Float>
    /// `[channels]`.
    public var d: UnsafePointer<Float>
    /// As `a`.
    public var h: UnsafeMutablePointer<Float>
    public var stateStride: Int
    public var tokens: Int
    public var channels: Int
    public var states: Int
    /// As `x`; may be `delta`.
    public var y: UnsafeMutablePointer<Float>

    @inlinable
    public init(
        x: UnsafePointer<Float>, delta: UnsafePointer<Float>, stride: Int, b: UnsafePointer<Float>,
        c: UnsafePointer<Float>, selectStride: Int, a: UnsafePointer<Float>, d: UnsafePointer<Float>,
        h: UnsafeMutablePointer<Float>, stateStride: Int, tokens: Int, channels: Int, states: Int,
        y: UnsafeMutablePointer<Float>
    ) {
        (self.x, self.delta, self.stride) = (x, delta, stride)
        (self.b, self.c, self.selectStride) = (b, c, selectStride)
        (self.a, self.d, self.h, self.stateStride) = (a, d, h, stateStride)
        (self.tokens, self.channels, self.states, self.y) = (tokens, channels, states, y)
    }
}
