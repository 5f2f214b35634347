// A float matrix product for prompts: C[tokens, rows] (+)= A[tokens, k] · W[rows, k]ᵀ.
//
//     weights, a panel of 16 rows:    [k][16]    two registers a step
//     activations, a tile of 6 tokens: [k][6]    six broadcasts a step
//
// 12 accumulators, two weights and a broadcast are 15 of the 16 registers; 12 multiply-adds against 8 loads a step,
// so the two multiply-add units are what limits it. Packing both sides makes every access sequential and keeps rows a
// power of two apart from falling into the same cache sets (which halved the speed of a first version).

import CIntrinsics

/// Tokens in a tile, weight rows in a panel.
public let tileTokens = 6
public let panelRows = 16

/// Multiplies one tile by one panel.
///
/// - Parameters:
///   - count: Steps: the part of k that both cover.
///   - tokens: How many rows of `c` are written, up to 6.
///   - accumulate: Whether to add to `c` or to replace it.
@inline(never)
public func multiplyTile(
    _ tile: UnsafePointer<Float>, _ panel: UnsafePointer<Float>, count: Int, into c: UnsafeMutablePointer<Float>,
    stride: Int, tokens: Int, accumulate: Bool
) {
    let zero = _mm256_setzero_ps()
    var c00 = zero, c01 = zero, c10 = zero, c11 = zero, c20 = zero, c21 = zero
    var c30 = zero, c31 = zero, c40 = zero, c41 = zero, c50 = zero, c51 = zero
    var a = tile, w = panel
    for _ in 0..<count {
        let (w0, w1) = (load(w), load(w + 8))
        let a0 = _mm256_set1_ps(a[0])
        c00 = _mm256_fmadd_ps(a0, w0, c00)
        c01 = _mm256_fmadd_ps(a0, w1, c01)
        let a1 = _mm256_set1_ps(a[1])
        c10 = _mm256_fmadd_ps(a1, w0, c10)
        c11 = _mm256_fmadd_ps(a1, w1, c11)
        let a2 = _mm256_set1_ps(a[2])
        c20 = _mm256_fmadd_ps(a2, w0, c20)
        c21 = _mm256_fmadd_ps(a2, w1, c21)
        let a3 = _mm256_set1_ps(a[3])
        c30 = _mm256_fmadd_ps(a3, w0, c30)
        c31 = _mm256_fmadd_ps(a3, w1, c31)
        let a4 = _mm256_set1_ps(a[4])
        c40 = _mm256_fmadd_ps(a4, w0, c40)
        c41 = _mm256_fmadd_ps(a4, w1, c41)
        let a5 = _mm256_set1_ps(a[5])
        c50 = _mm256_fmadd_ps(a5, w0, c50)
        c51 = _mm256_fmadd_ps(a5, w1, c51)
        a += tileTokens
        w += panelRows
    }
    @inline(__always)
    func write(_ token: Int, _ low: __m256, _ high: __m256) {
        guard token < tokens else { return }
        let out = c + (token &* stride)
        _mm256_storeu_ps(out, accumulate ? _mm256_add_ps(load(out), low) : low)
        _mm256_storeu_ps(out + 8, accumulate ? _mm256_add_ps(load(out + 8), high) : high)
    }
    write(0, c00, c01)
    write(1, c10, c11)
    write(2, c20, c21)
    write(3, c30, c31)
    write(4, c40, c41)
    write(5, c50, c51)
}

/// Packs `count` values of up to 6 tokens into a tile; tokens that are not there become zeros.
@inline(never)
public func packTile(
    _ activations: UnsafePointer<Float>, stride: Int, tokens: Int, count: Int, into tile: UnsafeMutablePointer<Float>
) {
    for token in 0..<tileTokens {
        let row = activations + (token &* stride)
        for k in 0..<count { tile[k &* tileTokens &+ token] = token < tokens ? row[k] : 0 }
    }
}

/// Packs 16 rows of `count` weights, a multiple of 8, `stride` apart, into a panel.
@inline(never)
public func packPanel(
    _ rows: UnsafePointer<Float>, stride: Int, count: Int, into panel: UnsafeMutablePointer<Float>
) {
    for half in 0..<2 {
        let source = rows + (half &* 8 &* stride)
        var k = 0
        while k < count {
            transpose8(source + k, stride: stride, into: panel + (k &* panelRows &+ half &* 8), stride: panelRows)
            k &+= 8
        }
    }
}

@inline(__always)
private func transpose8(
    _ source: UnsafePointer<Float>, stride s: Int, into destination: UnsafeMutablePointer<Float>, stride d: Int
) {
    let (r0, r1, r2, r3) = (load(source), load(source + s), load(source + 2 &* s), load(source + 3 &* s))
    let (r4, r5, r6, r7) = (
        load(source + 4 &* s), load(source + 5 &* s), load(source + 6 &* s), load(source + 7 &* s)
    )
    let (a0, a1) = (_mm256_unpacklo_ps(r0, r1), _mm256_unpackhi_ps(r0, r1))
    let (a2, a3) = (_mm256_unpacklo_ps(r2, r3), _mm256_unpackhi_ps(r2, r3))
    let (a4, a5) = (_mm256_unpacklo_ps(r4, r5), _mm256_unpackhi_ps(r4, r5))
    let (a6, a7) = (_mm256_unpacklo_ps(r6, r7), _mm256_unpackhi_ps(r6, r7))
    let (b0, b1) = (shuffle_lows(a0, a2), shuffle_highs(a0, a2))
    let (b2, b3) = (shuffle_lows(a1, a3), shuffle_highs(a1, a3))
    let (b4, b5) = (shuffle_lows(a4, a6), shuffle_highs(a4, a6))
    let (b6, b7) = (shuffle_lows(a5, a7), shuffle_highs(a5, a7))
    _mm256_storeu_ps(destination, join_lower_lanes(b0, b4))
    _mm256_storeu_ps(destination + d, join_lower_lanes(b1, b5))
    _mm256_storeu_ps(destination + 2 &* d, join_lower_lanes(b2, b6))
    _mm256_storeu_ps(destination + 3 &* d, join_lower_lanes(b3, b7))
    _mm256_storeu_ps(destination + 4 &* d, join_upper_lanes(b0, b4))
    _mm256_storeu_ps(destination + 5 &* d, join_upper_lanes(b1, b5))
    _mm256_storeu_ps(destination + 6 &* d, join_upper_lanes(b2, b6))
    _mm256_storeu_ps(destination + 7 &* d, join_upper_lanes(b3, b7))
}
