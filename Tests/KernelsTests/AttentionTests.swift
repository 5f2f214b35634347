import Foundation
import KernelFormats
import KernelsPortable
import TestSupport
import Testing

#if arch(x86_64)
    import CIntrinsics
    import KernelsAVX2
    import KernelsAVX512
#endif

/// Pages of the KV cache as bytes, and attention over them.
@Suite struct AttentionTests {
    /// Keys and values of one page's tokens, as the network would make them.
    private struct Tokens {
        let layout: QuantizedPage
        /// `[32][keyWidth]` and `[32][valueWidth]`.
        var keys: [Float]
        var values: [Float]

        init(_ codes: QuantizedPage.Codes = .bytes, keyWidth: Int, valueWidth: Int, seed: UInt64) {
            var generator = SeededGenerator(seed: seed)
            layout = QuantizedPage(codes, keyWidth: keyWidth, valueWidth: valueWidth)
            // Groups of different size; every fifth is tiny.
            func random(_ width: Int) -> [Float] {
                (0..<32 * width).map { index in
                    let size: Float = index % width / 32 % 5 == 4 ? 1e-4 : 1
                    return Float.random(in: -size...size, using: &generator)
                }
            }
            keys = random(keyWidth)
            values = random(valueWidth)
        }

        /// Bytes that nothing must read or write lie before and behind the page.
        func page(storing order: some Sequence<Int> = 0..<32) -> [UInt8] {
            var bytes = [UInt8](repeating: 0xa5, count: 64 + layout.byteCount + 64)
            bytes.withUnsafeMutableBytes { bytes in
                for token in order {
                    keys.withUnsafeBufferPointer { keys in
                        values.withUnsafeBufferPointer { values in
                            storeQuantized(
                                key: keys.baseAddress! + token * layout.keyWidth,
                                value: values.baseAddress! + token * layout.valueWidth, in: bytes.baseAddress! + 64,
                                layout, token: token)
                        }
                    }
                }
            }
            return bytes
        }
    }

    private static let widths = [(8, 8), (40, 40), (64, 64), (128, 128), (40, 8), (8, 136), (10, 33)]

    private func widened(_ page: [UInt8], _ layout: QuantizedPage) -> [Float] {
        var floats = [Float](repeating: -7, count: 32 * (layout.keyWidth + layout.valueWidth))
        page.withUnsafeBytes { widenQuantized($0.baseAddress! + 64, layout, into: &floats) }
        return floats
    }

    /// What the page holds of a token's key or value, read as its documentation says it lies.
    private func read(_ page: [UInt8], codes: Int, codeStride: Int, scales: Int, scaleStride: Int, count: Int) -> [(
        value: Double, scale: Double
    )] {
        (0..<count).map { d in
            let low = UInt16(page[64 + scales + 2 * (d / 32) * scaleStride])
            let high = UInt16(page[64 + scales + 2 * (d / 32) * scaleStride + 1])
            let scale = Double(floatFromHalf(low | high << 8))
            return (scale * Double(Int8(bitPattern: page[64 + codes + d * codeStride])), scale)
        }
    }

    private func key(_ token: Int, _ page: [UInt8], _ layout: QuantizedPage) -> [(value: Double, scale: Double)] {
        read(
            page, codes: token, codeStride: 32, scales: 32 * layout.keyWidth + 2 * token, scaleStride: 32,
            count: layout.keyWidth)
    }

    private func value(_ token: Int, _ page: [UInt8], _ layout: QuantizedPage) -> [(value: Double, scale: Double)] {
        let groups = (layout.valueWidth + 31) / 32
        let start = 32 * layout.keyWidth + 64 * ((layout.keyWidth + 31) / 32)
        return read(
            page, codes: start + token * layout.valueWidth, codeStride: 1,
            scales: start + 32 * layout.valueWidth + 2 * token * groups, scaleStride: 1, count: layout.valueWidth)
    }

    @Test(arguments: widths)
    func `a page holds each value to half a step of its group, and widening gives what it holds`(
        keyWidth: Int, valueWidth: Int
    ) {
        let tokens = Tokens(keyWidth: keyWidth, valueWidth: valueWidth, seed: 21)
        let (page, layout) = (tokens.page(), tokens.layout)
        #expect(page.prefix(64).allSatisfy { $0 == 0xa5 } && page.suffix(64).allSatisfy { $0 == 0xa5 })
        let floats = widened(page, layout)
        for token in 0..<32 {
            let keys = tokens.keys[token * keyWidth..<(token + 1) * keyWidth]
            let values = tokens.values[token * valueWidth..<(token + 1) * valueWidth]
            let wideKeys = (0..<keyWidth).map { floats[$0 * 32 + token] }
            let wideValues = (0..<valueWidth).map { floats[32 * keyWidth + token * valueWidth + $0] }
            let sides = [
                (key(token, page, layout), keys, wideKeys), (value(token, page, layout), values, wideValues),
            ]
            for (held, exact, wide) in sides {
                for ((held, x), wide) in zip(zip(held, exact), wide) {
                    // Half a step. A scale that was rounded down, by half an ulp or 2⁻²⁵, leaves 127 of that uncovered;
                    // a quotient near a half may be rounded either way.
                    let clipped = 127 * max(held.scale * 0x1p-11, 0x1p-25)
                    #expect(abs(held.value - Double(x)) <= held.scale * (0.5 + 1e-4) + clipped)
                    #expect(Double(wide) == held.value)
                }
            }
        }
    }

    @Test func `the largest value of a group has code 127 or -127, and a group of zeros stays zeros`() {
        var tokens = Tokens(keyWidth: 40, valueWidth: 8, seed: 22)
        for d in 0..<40 { tokens.keys[40 + d] = d < 32 ? 0 : Float(d - 40) }
        let floats = widened(tokens.page(), tokens.layout)
        for d in 0..<32 { #expect(floats[32 * d + 1] == 0) }
        let page = tokens.page()
        #expect(Int8(bitPattern: page[64 + 32 * 32 + 1]) == -127)  // of -8
    }

    @Test(arguments: [Float.nan, .infinity, -.infinity, 1e30])
    func `what is not finite, or too large, is NaN with its whole group and nothing else`(odd: Float) {
        var tokens = Tokens(keyWidth: 40, valueWidth: 33, seed: 23)
        tokens.keys[5 * 40 + 33] = odd
        tokens.values[6 * 33 + 32] = odd
        let floats = widened(tokens.page(), tokens.layout)
        for d in 0..<40 { for t in 0..<32 { #expect(floats[32 * d + t].isNaN == (t == 5 && d >= 32)) } }
        for t in 0..<32 { for d in 0..<33 { #expect(floats[32 * 40 + t * 33 + d].isNaN == (t == 6 && d == 32)) } }
    }

    /// The level that a nibble of the page stands for, times its scale: even elements are in low nibbles.
    private func nibble(_ page: [UInt8], row: Int, _ index: Int, scale: Int) -> Double {
        let byte = page[64 + row + index / 2]
        let half = UInt16(page[64 + scale]) | UInt16(page[64 + scale + 1]) << 8
        return Double(floatFromHalf(half)) * Double(iq4Levels[Int(index % 2 == 0 ? byte & 15 : byte >> 4)])
    }

    @Test(arguments: widths)
    func `a page of nibbles holds values to the error of its levels, and widening gives what it holds`(
        keyWidth: Int, valueWidth: Int
    ) {
        let tokens = Tokens(.nibbles, keyWidth: keyWidth, valueWidth: valueWidth, seed: 29)
        let (page, layout) = (tokens.page(), tokens.layout)
        #expect(page.prefix(64).allSatisfy { $0 == 0xa5 } && page.suffix(64).allSatisfy { $0 == 0xa5 })
        // A page says nothing of the order in which its tokens were stored, or of what was there before.
        let isSame = tokens.page(storing: [5, 31, 30] + (0..<32).reversed()) == page
        #expect(isSame)
        let floats = widened(page, layout)
        let (keyGroups, valueGroups) = ((keyWidth + 31) / 32, (valueWidth + 31) / 32)
        let values = 16 * keyWidth + 64 * keyGroups
        let scales = values + 32 * ((valueWidth + 1) / 2)
        var (error, power) = (0.0, 0.0)
        func check(_ wide: Float, _ held: Double, _ exact: Float) {
            #expect(Double(wide) == held)
            error += pow(held - Double(exact), 2)
            power += pow(Double(exact), 2)
        }
        for token in 0..<32 {
            for d in 0..<keyWidth {
                let held = nibble(page, row: 16 * d, token, scale: 16 * keyWidth + 64 * (d / 32) + 2 * token)
                check(floats[32 * d + token], held, tokens.keys[token * keyWidth + d])
            }
            for d in 0..<valueWidth {
                let held = nibble(
                    page, row: values + token * ((valueWidth + 1) / 2), d,
                    scale: scales + 2 * (token * valueGroups + d / 32))
                check(floats[32 * keyWidth + token * valueWidth + d], held, tokens.values[token * valueWidth + d])
            }
        }
        // 16 levels between −127 and 113: steps of 12 to 24, whose error is step² / 12, of evenly spread values 127² / 3.
        #expect(error < 0.008 * power)
    }

    @Test(arguments: [Float.nan, .infinity, -.infinity, 1e30])
    func `of nibbles too, what is not finite or too large is NaN with its whole group`(odd: Float) {
        var tokens = Tokens(.nibbles, keyWidth: 40, valueWidth: 33, seed: 23)
        tokens.keys[5 * 40 + 33] = odd
        tokens.values[6 * 33 + 32] = odd
        for d in 0..<32 { tokens.keys[d] = 0 }
        let floats = widened(tokens.page(), tokens.layout)
        for d in 0..<40 { for t in 0..<32 { #expect(floats[32 * d + t].isNaN == (t == 5 && d >= 32)) } }
        for t in 0..<32 { for d in 0..<33 { #expect(floats[32 * 40 + t * 33 + d].isNaN == (t == 6 && d == 32)) } }
        for d in 0..<32 { #expect(floats[32 * d] == 0) }
    }

    @Test(arguments: [1, 2, 8, 10, 33, 64, 80, 576])
    func `a rotated vector has the same products, spreads single values, and is turned back`(count: Int) {
        var generator = SeededGenerator(seed: 30)
        let vectors = (0..<2).map { _ in (0..<count).map { _ in Float.random(in: -1...1, using: &generator) } }
        func turn(_ vector: inout [Float]) { hadamard(&vector, count: count) }
        var rotated = vectors
        for index in 0..<2 { turn(&rotated[index]) }
        func product(_ pair: [[Float]]) -> Double {
            zip(pair[0], pair[1]).reduce(0) { $0 + Double($1.0) * Double($1.1) }
        }
        #expect(abs(product(rotated) - product(vectors)) < 1e-5 * Double(count))
        for index in 0..<2 {
            turn(&rotated[index])
            for (x, y) in zip(rotated[index], vectors[index]) { #expect(abs(x - y) < 1e-5) }
        }
        // The first block is the largest power of two.
        let block = 1 << (Int.bitWidth - 1 - count.leadingZeroBitCount)
        var unit = [Float](repeating: 0, count: count)
        unit[block - 1] = 1
        hadamard(&unit, count: count)
        for (index, x) in unit.enumerated() {
            #expect(index < block ? abs(abs(x) - 1 / Float(block).squareRoot()) < 1e-6 : x == 0)
        }
    }

    typealias Kernel = (
        _ queries: UnsafePointer<UnsafePointer<Float>>, _ outputs: UnsafePointer<UnsafeMutablePointer<Float>>,
        _ first: [Int32], _ end: [Int32], _ rows: Int, _ page: [UInt8], _ layout: QuantizedPage,
        _ maxima: UnsafeMutablePointer<Float>, _ sums: UnsafeMutablePointer<Float>
    ) -> Void

    private static func portable(
        queries: UnsafePointer<UnsafePointer<Float>>, outputs: UnsafePointer<UnsafeMutablePointer<Float>>,
        first: [Int32], end: [Int32], rows: Int, page: [UInt8], layout: QuantizedPage,
        maxima: UnsafeMutablePointer<Float>, sums: UnsafeMutablePointer<Float>
    ) {
        var floats = [Float](repeating: .nan, count: 32 * (layout.keyWidth + layout.valueWidth))
        page.withUnsafeBytes { KernelsPortable.widenQuantized($0.baseAddress! + 64, layout, into: &floats) }
        attend(
            KernelsPortable.attendPage, queries, outputs, first, end, rows, floats, layout, maxima, sums)
    }

    private static func attend(
        _ kernel: (PageAttention) -> Void, _ queries: UnsafePointer<UnsafePointer<Float>>,
        _ outputs: UnsafePointer<UnsafeMutablePointer<Float>>, _ first: [Int32], _ end: [Int32], _ rows: Int,
        _ page: [Float], _ layout: QuantizedPage, _ maxima: UnsafeMutablePointer<Float>,
        _ sums: UnsafeMutablePointer<Float>
    ) {
        var scratch = [Float](repeating: .nan, count: 32 * attendRows)
        first.withUnsafeBufferPointer { first in
            end.withUnsafeBufferPointer { end in
                page.withUnsafeBufferPointer { page in
                    scratch.withUnsafeMutableBufferPointer { scratch in
                        kernel(
                            PageAttention(
                                queries: queries, outputs: outputs, first: first.baseAddress!, end: end.baseAddress!,
                                rows: rows, page: page.baseAddress!, keyWidth: layout.keyWidth,
                                valueWidth: layout.valueWidth, maxima: maxima, sums: sums,
                                scratch: scratch.baseAddress!))
                    }
                }
            }
        }
    }

    /// Attention of three rows over two pages: row r sees neither the first r tokens nor the last 3r.
    private func attend(_ pages: [Tokens], queries: [Float], _ kernel: Kernel) -> [Float] {
        let layout = pages[0].layout
        var output = [Float](repeating: 0, count: 3 * layout.valueWidth)
        var maxima = [Float](repeating: -.infinity, count: 3), sums = [Float](repeating: 0, count: 3)
        queries.withUnsafeBufferPointer { q in
            output.withUnsafeMutableBufferPointer { o in
                let q = (0..<3).map { q.baseAddress! + $0 * layout.keyWidth }
                let o = (0..<3).map { o.baseAddress! + $0 * layout.valueWidth }
                kernel(q, o, [0, 1, 2], [32, 32, 32], 3, pages[0].page(), layout, &maxima, &sums)
                kernel(q, o, [0, 0, 0], [32, 29, 26], 3, pages[1].page(), layout, &maxima, &sums)
            }
        }
        return output.indices.map { output[$0] / sums[$0 / layout.valueWidth] }
    }

    private func checkAgainstSoftmax(_ widths: (Int, Int), _ kernel: Kernel) {
        let (keyWidth, valueWidth) = widths
        let pages = [24, 25].map { Tokens(keyWidth: keyWidth, valueWidth: valueWidth, seed: $0) }
        var generator = SeededGenerator(seed: 26)
        let queries = (0..<3 * keyWidth).map { _ in Float.random(in: -0.5...0.5, using: &generator) }
        let found = attend(pages, queries: queries, kernel)
        let (keys, values) = (
            pages.flatMap { tokens in (0..<32).map { key($0, tokens.page(), tokens.layout).map(\.value) } },
            pages.flatMap { tokens in (0..<32).map { value($0, tokens.page(), tokens.layout).map(\.value) } }
        )
        for row in 0..<3 {
            let query = queries[row * keyWidth..<(row + 1) * keyWidth].map { Double($0) }
            let seen = row..<64 - 3 * row
            let scores = seen.map { t in zip(query, keys[t]).reduce(0) { $0 + $1.0 * $1.1 } }
            let weights = scores.map { exp($0 - scores.max()!) }
            let sum = weights.reduce(0, +)
            // A score is `keyWidth` products and sums, each of which rounds by at most half an ulp of the sum of
            // magnitudes; so does the subtraction of the maximum, once more. Twice that is what a ratio of weights is off
            // by. Exponentials are good to 2 ulp, the sums of up to 64 weights and weighted values to 32 each.
            let magnitude = keys.map { zip(query, $0).reduce(0) { $0 + abs($1.0 * $1.1) } }.max()!
            let tolerance = Double(Float.ulpOfOne) * (Double(keyWidth + 1) * magnitude + 2 * 2 + 2 * 32 + 4)
            for d in 0..<valueWidth {
                let expected = zip(weights, seen).reduce(0) { $0 + $1.0 * values[$1.1][d] } / sum
                #expect(abs(Double(found[row * valueWidth + d]) - expected) <= tolerance)
            }
        }
    }

    @Test(arguments: widths)
    func `attention over bytes is the softmax of what they stand for`(keyWidth: Int, valueWidth: Int) {
        checkAgainstSoftmax((keyWidth, valueWidth), Self.portable)
    }

    @Test func `a key that is NaN is not lost in the softmax`() {
        checkNaN(Self.portable)
    }

    private func checkNaN(_ kernel: Kernel, valueWidth: Int = 8) {
        let queries = [Float](repeating: 0.1, count: 3 * 8)
        for token in [0, 7, 8, 20, 25] {
            var pages = [24, 25].map { Tokens(keyWidth: 8, valueWidth: valueWidth, seed: $0) }
            pages[1].keys[token * 8 + 3] = .nan
            let found = attend(pages, queries: queries, kernel)
            #expect(found.allSatisfy { $0.isNaN }, "token \(token)")
        }
        // One that no row sees is as if it were not there.
        var pages = [24, 25].map { Tokens(keyWidth: 8, valueWidth: valueWidth, seed: $0) }
        pages[0].keys[0] = .nan
        let found = attend(pages, queries: queries, kernel)
        #expect(found[..<valueWidth].allSatisfy { $0.isNaN } && found[valueWidth...].allSatisfy { $0.isFinite })
    }

    #if arch(x86_64)
        private static func widened(_ page: [UInt8], _ layout: QuantizedPage) -> [Float] {
            var floats = [Float](repeating: .nan, count: 32 * (layout.keyWidth + layout.valueWidth))
            page.withUnsafeBytes {
                KernelsAVX2.widenQuantized($0.baseAddress! + 64, layout, into: &floats, next: $0.baseAddress! + 64)
            }
            return floats
        }

        private static func avx2(
            queries: UnsafePointer<UnsafePointer<Float>>, outputs: UnsafePointer<UnsafeMutablePointer<Float>>,
            first: [Int32], end: [Int32], rows: Int, page: [UInt8], layout: QuantizedPage,
            maxima: UnsafeMutablePointer<Float>, sums: UnsafeMutablePointer<Float>
        ) {
            attend(
                KernelsAVX2.attendPage, queries, outputs, first, end, rows, widened(page, layout), layout, maxima, sums)
        }

        private static func avx512(
            queries: UnsafePointer<UnsafePointer<Float>>, outputs: UnsafePointer<UnsafeMutablePointer<Float>>,
            first: [Int32], end: [Int32], rows: Int, page: [UInt8], layout: QuantizedPage,
            maxima: UnsafeMutablePointer<Float>, sums: UnsafeMutablePointer<Float>
        ) {
            attend(
                KernelsAVX512.attendPage, queries, outputs, first, end, rows, widened(page, layout), layout, maxima,
                sums)
        }

        private static let eights = widths.filter { $0.1 % 8 == 0 }

        @Test(
            .enabled(if: cpu_has_avx2_fma_f16c() != 0, "this processor has no AVX2"),
            arguments: eights + [(10, 24), (1, 8), (33, 104)],
            [QuantizedPage.Codes.bytes, .nibbles])
        func `AVX2 widens codes to the same floats`(_ widths: (key: Int, value: Int), codes: QuantizedPage.Codes) {
            let (keyWidth, valueWidth) = widths
            let tokens = Tokens(codes, keyWidth: keyWidth, valueWidth: valueWidth, seed: 27)
            let (page, layout) = (tokens.page(), tokens.layout)
            let count = 32 * (keyWidth + valueWidth)
            var found = [Float](repeating: -7, count: count + 8)
            page.withUnsafeBytes {
                KernelsAVX2.widenQuantized($0.baseAddress! + 64, layout, into: &found, next: $0.baseAddress!)
            }
            // A code of 8 bits times a scale of 11 is exact.
            #expect(Array(found.prefix(count)) == widened(page, layout))
            #expect(found.suffix(8).allSatisfy { $0 == -7 })
        }

        @Test(.enabled(if: cpu_has_avx2_fma_f16c() != 0, "this processor has no AVX2"), arguments: [(8, 8), (10, 33)])
        func `AVX2 widens halves to the same floats`(keyWidth: Int, valueWidth: Int) {
            let count = 32 * (keyWidth + valueWidth)
            var generator = SeededGenerator(seed: 28)
            let halves = (0..<count).map { _ in Float16(Float.random(in: -2...2, using: &generator)).bitPattern }
            var found = [Float](repeating: -7, count: count), expected = found
            halves.withUnsafeBytes { page in
                KernelsAVX2.widenHalves(
                    page.baseAddress!, keyWidth: keyWidth, valueWidth: valueWidth, into: &found,
                    next: page.baseAddress!)
                KernelsPortable.widenHalves(
                    page.baseAddress!, keyWidth: keyWidth, valueWidth: valueWidth, into: &expected)
            }
            #expect(found == expected)
            #expect(expected == halves.map { Float(Float16(bitPattern: $0)) })
        }

        @Test(
            .enabled(if: cpu_has_avx2_fma_f16c() != 0, "this processor has no AVX2"),
            arguments: eights)
        func `AVX2's attention over bytes is the softmax of what they stand for`(keyWidth: Int, valueWidth: Int) {
            checkAgainstSoftmax((keyWidth, valueWidth), Self.avx2)
        }

        @Test(.enabled(if: cpu_has_avx2_fma_f16c() != 0, "this processor has no AVX2"))
        func `a key that is NaN is not lost in AVX2's softmax`() {
            checkNaN(Self.avx2)
        }

        @Test(.enabled(if: KernelsAVX512.isSupported(), "this processor has no AVX-512 with VNNI"))
        func `AVX-512's attention over bytes is the softmax of what they stand for, and loses no NaN`() {
            for widths in [(64, 64), (40, 16), (10, 144)] { checkAgainstSoftmax(widths, Self.avx512) }
            checkNaN(Self.avx512, valueWidth: 16)
        }
    #endif
}
