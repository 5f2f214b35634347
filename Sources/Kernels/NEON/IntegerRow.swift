// One token times packed weights, for decoding: weights are streamed from memory and unpacked in registers.

import CIntrinsics
public import KernelFormats

/// Multiplies a tile of one token (a pair of columns) by a group of 16 packed rows; the result goes to `c[0..<16]`.
///
/// - Parameter count: Number of packed blocks in the group, covering all columns of the matrix.
@inline(never)
public func multiplyToken(
    _ layout: PackedLayout, _ tile: UnsafeRawPointer, _ blocks: UnsafeRawPointer, count: Int,
    into c: UnsafeMutablePointer<Float>
) {
    layout.format.run(TokenProduct(layout: layout, tile: tile, blocks: blocks, count: count, c: c))
}

private struct TokenProduct: PackedKernel {
    let layout: PackedLayout
    let tile: UnsafeRawPointer
    let blocks: UnsafeRawPointer
    let count: Int
    let c: UnsafeMutablePointer<Float>

    @inline(__always)
    func run<Format: PackedFormat>(_: Format.Type) {
        var result = RowFloats()
        var (block, x) = (blocks, tile)
        let partBytes = layout.blockBytes / layout.parts
        for _ in 0..<count {
            let shared = Format.shared(block)
            var planes = block + layout.scaleBytes
            for part in 0..<layout.parts {
                prefetchLines(planes, partBytes)
                var sums = TokenSums<Format>()
                sums.add(planes, x, 0)
                sums.add(planes, x, 1)
                sums.add(planes, x, 2)
                sums.add(planes, x, 3)
                let numbers = (x + 64).assumingMemoryBound(to: Float.self)
                let scales = Format.scales(shared, block, part, 0)
                if Format.segments == 1 {
                    result = add(sums.low, scales, numbers[0], numbers[2], to: result)
                } else {
                    result = add(sums.low, scales, numbers[0], numbers[4], to: result)
                    result = add(sums.high, Format.scales(shared, block, part, 1), numbers[0], numbers[6], to: result)
                }
                planes += layout.planeBytes
                x += IntegerTile.blockBytes(columns: 2)
            }
            block += layout.blockBytes
        }
        UnsafeMutableRawPointer(c).storeBytes(of: result, as: RowFloats.self)
    }
}

/// Sums of 16 rows by the two columns of a token: of all 32 columns of the matrix, or of the first and the last 16.
private struct TokenSums<Format: PackedFormat> {
    var low = (SIMD16<Int32>(), SIMD16<Int32>())
    var high = (SIMD16<Int32>(), SIMD16<Int32>())

    @inline(__always)
    init() {}

    /// Steps `step`, a literal, and `step + 4`.
    @inline(__always)
    mutating func add(_ planes: UnsafeRawPointer, _ x: UnsafeRawPointer, _ step: Int) {
        let codes = Format.codes(planes, step)
        Self.add(codes.0, x, step, to: &low)
        if Format.segments == 1 {
            Self.add(codes.1, x, step &+ 4, to: &low)
        } else {
            Self.add(codes.1, x, step &+ 4, to: &high)
        }
    }

    @inline(__always)
    private static func add(
        _ codes: Codes, _ x: UnsafeRawPointer, _ step: Int, to sums: inout (SIMD16<Int32>, SIMD16<Int32>)
    ) {
        // The two columns of two steps.
        let activations = (x + 16 &* (step >> 1)).loadUnaligned(as: SIMD16<Int8>.self)
        if step & 1 == 0 {
            sums.0 = dot_lane0(sums.0, codes, activations)
            sums.1 = dot_lane1(sums.1, codes, activations)
        } else {
            sums.0 = dot_lane2(sums.0, codes, activations)
            sums.1 = dot_lane3(sums.1, codes, activations)
        }
    }
}

@inline(__always)
private func add(
    _ sums: (SIMD16<Int32>, SIMD16<Int32>), _ scales: (scale: RowFloats, offset: RowFloats), _ xScale: Float,
    _ xSum: Float, to result: RowFloats
) -> RowFloats {
    let code = multiply_add16(
        floats_of_ints16(sums.0), RowFloats(repeating: IntegerTile.pairFactor), floats_of_ints16(sums.1))
    return multiply_add16(
        -scales.offset, RowFloats(repeating: xSum), multiply_add16(code, scales.scale * xScale, result))
}
