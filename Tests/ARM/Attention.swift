// Attention over pages of the KV cache, against the portable tier.

import Compute
import KernelFormats
import KernelsPortable

private let widths = [(64, 64), (8, 40), (72, 8), (128, 128), (40, 136), (10, 33)]

func checkAttention(_ kernels: KernelSet) {
    for (keyWidth, valueWidth) in widths {
        checkWidening(kernels, keyWidth, valueWidth)
        for rows in [1, 2, 5] {
            for change in 0..<3 { checkPages(kernels, keyWidth, valueWidth, rows, change) }
        }
    }
    checkNaN(kernels)
}

private func checkWidening(_ kernels: KernelSet, _ keyWidth: Int, _ valueWidth: Int) {
    subject = "pages as floats"
    let count = 32 * (keyWidth + valueWidth)
    let values = random(count, seed: 40, -3...3)
    var halves = [UInt16](repeating: 0, count: count)
    storeHalf(values, into: &halves, stride: 1, count: count)
    halves[1] = 0x7c00
    halves[2] = 0xfe00
    halves[3] = 1  // the smallest subnormal
    var expected = [Float](repeating: 7, count: count), found = expected
    KernelSet.portable.widenHalves(halves, keyWidth, valueWidth, &expected, halves)
    kernels.widenHalves(halves, keyWidth, valueWidth, &found, halves)
    check(found, expected, "halves, widths \(keyWidth) and \(valueWidth)") { _ in 0 }
    for codes in [QuantizedPage.Codes.bytes, .nibbles] {
        let layout = QuantizedPage(codes, keyWidth: keyWidth, valueWidth: valueWidth)
        var page = [UInt8](repeating: 0xa5, count: layout.byteCount)
        for token in 0..<32 {
            values.withUnsafeBufferPointer { values in
                storeQuantized(
                    key: values.baseAddress! + token * keyWidth,
                    value: values.baseAddress! + 32 * keyWidth + token * valueWidth, in: &page, layout, token: token)
            }
        }
        KernelSet.portable.widenQuantized(page, layout, &expected, page)
        kernels.widenQuantized(page, layout, &found, page)
        let name = codes == .bytes ? "bytes" : "nibbles"
        check(found, expected, "\(name), widths \(keyWidth) and \(valueWidth)") { _ in 0 }
    }
}

/// Two pages, of which row r does not see the first r tokens, nor the last 3r of the second; odd rows see nothing of
/// the first.
private func attend(
    _ kernels: KernelSet, _ queries: [Float], _ pages: [[Float]], _ keyWidth: Int, _ valueWidth: Int, _ rows: Int,
    _ change: Int
) -> [Float] {
    var output = [Float](repeating: 0, count: rows * valueWidth)
    var maxima = [Float](repeating: -.infinity, count: rows), sums = [Float](repeating: 0, count: rows)
    var scratch = [Float](repeating: .nan, count: 32 * attendRows)
    let slopes = (0..<rows).map { 0.25 / Float($0 + 1) }
    queries.withUnsafeBufferPointer { q in
        output.withUnsafeMutableBufferPointer { o in
            let q = (0..<rows).map { q.baseAddress! + $0 * keyWidth }
            let o = (0..<rows).map { o.baseAddress! + $0 * valueWidth }
            for (index, page) in pages.enumerated() {
                let first = (0..<rows).map { index == 0 ? Int32($0 % 2 == 1 ? 32 : $0) : 0 }
                let end = (0..<rows).map { index == 0 ? 32 : Int32(32 - 3 * $0) }
                let offsets = (0..<rows).map { Float(32 * index - 64 - $0) }
                slopes.withUnsafeBufferPointer { slopes in
                    offsets.withUnsafeBufferPointer { offsets in
                        q.withUnsafeBufferPointer { q in
                            o.withUnsafeBufferPointer { o in
                                first.withUnsafeBufferPointer { first in
                                    end.withUnsafeBufferPointer { end in
                                        page.withUnsafeBufferPointer { page in
                                            maxima.withUnsafeMutableBufferPointer { maxima in
                                                sums.withUnsafeMutableBufferPointer { sums in
                                                    scratch.withUnsafeMutableBufferPointer { scratch in
                                                        kernels.attendPage(
                                                            PageAttention(
                                                                queries: q.baseAddress!, outputs: o.baseAddress!,
                                                                first: first.baseAddress!, end: end.baseAddress!,
                                                                rows: rows, page: page.baseAddress!,
                                                                keyWidth: keyWidth, valueWidth: valueWidth,
                                                                maxima: maxima.baseAddress!, sums: sums.baseAddress!,
                                                                scratch: scratch.baseAddress!,
                                                                changes: ScoreChanges(
                                                                    softcap: change == 1 ? 2 : 0,
                                                                    slopes: change == 2 ? slopes.baseAddress! : nil,
                                                                    offsets: change == 2 ? offsets.baseAddress! : nil)
                                                            ))
                                                    }
                                                }
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    return output.indices.map { output[$0] / sums[$0 / valueWidth] }
}

private func checkPages(_ kernels: KernelSet, _ keyWidth: Int, _ valueWidth: Int, _ rows: Int, _ change: Int) {
    subject = "attention"
    let queries = random(rows * keyWidth, seed: 11, -0.5...0.5)
    let pages = [random(32 * (keyWidth + valueWidth), seed: 12), random(32 * (keyWidth + valueWidth), seed: 13)]
    let expected = attend(.portable, queries, pages, keyWidth, valueWidth, rows, change)
    let found = attend(kernels, queries, pages, keyWidth, valueWidth, rows, change)
    // Scores of `keyWidth` products of at most ½ move a weight by that many ulps, a bias of up to 24 by 24 more; values
    // are at most 1.
    check(found, expected, "widths \(keyWidth) and \(valueWidth), \(rows) rows, change \(change)") { _ in
        Float.ulpOfOne * Float(keyWidth + 64 + (change == 2 ? 48 : 0))
    }
}

private func checkNaN(_ kernels: KernelSet) {
    subject = "a NaN in a key"
    for token in [0, 3, 4, 7, 8, 31] {
        var pages = [random(32 * 16, seed: 14), random(32 * 16, seed: 15)]
        pages[1][3 * 32 + token] = .nan
        let found = attend(kernels, random(8, seed: 16), pages, 8, 8, 1, 0)
        check(found.allSatisfy { $0.isNaN }, "token \(token)")
    }
}
