#if arch(x86_64)
    import KernelFormats
    import KernelsAVX512
    import TestSupport
    import Testing

    /// AVX-512's kernels for attention beside `attendPage`, which `AttentionTests` checks.
    @Suite struct BlockAttentionTests {
        @Test(
            .enabled(if: KernelsAVX512.isSupported(), "this processor has no AVX-512 with VNNI"),
            arguments: [(8, 8), (10, 33), (1, 1)])
        func `AVX-512 widens halves to the same floats`(keyWidth: Int, valueWidth: Int) {
            let count = 32 * (keyWidth + valueWidth)
            let halves = Self.halves(count, seed: 28)
            var found = [Float](repeating: -7, count: count + 1)
            halves.withUnsafeBytes { page in
                KernelsAVX512.widenHalves(
                    page.baseAddress!, keyWidth: keyWidth, valueWidth: valueWidth, into: &found,
                    next: page.baseAddress!)
            }
            #expect(found == halves.map { Float(Float16(bitPattern: $0)) } + [-7])
        }

        private static func halves(_ count: Int, seed: UInt64) -> [UInt16] {
            var generator = SeededGenerator(seed: seed)
            return (0..<count).map { _ in Float16(Float.random(in: -2...2, using: &generator)).bitPattern }
        }

        /// Every kernel of the tier gives a row the same bits, whatever rows are beside it: some that see all of a page,
        /// some that see a part, and some that see nothing yet.
        @Test(
            .enabled(if: KernelsAVX512.isSupported(), "this processor has no AVX-512 with VNNI"),
            arguments: [(64, 64), (40, 16), (1, 48), (10, 144)], [false, true])
        func `a row has the same bits alone, in a block, and over halves`(_ widths: (Int, Int), changes: Bool) {
            let (keyWidth, valueWidth) = widths
            let rows = BlockAttention.rows
            var generator = SeededGenerator(seed: 29)
            let queries = Memory((0..<rows * keyWidth).map { _ in Float.random(in: -0.5...0.5, using: &generator) })
            let side = Memory(
                (0..<rows * keyWidth).map { queries.base[$0 % rows * keyWidth + $0 / rows] })
            let slopes = Memory((0..<rows).map { 0.01 * Float($0) })
            let offsets = Memory((0..<rows).map { -31 - Float($0) })
            let scratch = Memory([Float](repeating: .nan, count: 32 * rows))
            let states = (0..<3).map { _ in RowStates(rows, valueWidth) }
            for page in 0..<4 {
                let halves = Memory(Self.halves(32 * (keyWidth + valueWidth), seed: 30 + UInt64(page)))
                let floats = Memory(halves.values.map { Float(Float16(bitPattern: $0)) })
                let first = Memory((0..<rows).map { Int32(page == 0 ? $0 % 5 : 0) })
                let end = Memory(
                    (0..<rows).map { Int32(page == 0 && $0 % 3 == 0 ? 0 : page == 3 ? $0 : pageTokens) })
                func scoreChanges(_ row: Int) -> ScoreChanges {
                    guard changes else { return ScoreChanges() }
                    return ScoreChanges(softcap: 3, slopes: slopes.base + row, offsets: offsets.base + row)
                }
                /// Calls a kernel for some rows, apart.
                func attend(_ some: Range<Int>, _ state: RowStates, _ kernel: (PageAttention) -> Void) {
                    let places = Memory(some.map { UnsafePointer(queries.base + $0 * keyWidth) })
                    let outputs = Memory(some.map { state.outputs.base + $0 * valueWidth })
                    withExtendedLifetime((places, outputs)) {
                        kernel(
                            PageAttention(
                                queries: places.base, outputs: outputs.base, first: first.base + some.lowerBound,
                                end: end.base + some.lowerBound, rows: some.count, page: floats.base,
                                keyWidth: keyWidth, valueWidth: valueWidth,
                                maxima: state.maxima.base + some.lowerBound,
                                sums: state.sums.base + some.lowerBound, scratch: scratch.base,
                                changes: scoreChanges(some.lowerBound)))
                    }
                }
                withExtendedLifetime((halves, floats, first, end, slopes, offsets, scratch, side)) {
                    for row in 0..<rows { attend(row..<row + 1, states[0]) { KernelsAVX512.attendPage($0) } }
                    for start in stride(from: 0, to: rows, by: 7) {
                        attend(start..<min(start + 7, rows), states[1]) {
                            KernelsAVX512.attendHalves($0, halves.base, next: halves.base)
                        }
                    }
                    KernelsAVX512.attendBlock(
                        BlockAttention(
                            queries: side.base, outputs: states[2].outputs.base, first: first.base, end: end.base,
                            page: floats.base, keyWidth: keyWidth, valueWidth: valueWidth,
                            maxima: states[2].maxima.base, sums: states[2].sums.base, scratch: scratch.base,
                            changes: scoreChanges(0)))
                }
            }
            for row in 0..<rows {
                let alone = (0..<valueWidth).map { states[0].outputs.base[row * valueWidth + $0].bitPattern }
                #expect(alone == (0..<valueWidth).map { states[1].outputs.base[row * valueWidth + $0].bitPattern })
                #expect(alone == (0..<valueWidth).map { states[2].outputs.base[$0 * rows + row].bitPattern })
                #expect(alone.contains { $0 != 0 })
            }
            for other in states[1...] {
                #expect(other.maxima.values == states[0].maxima.values)
                #expect(other.sums.values.map(\.bitPattern) == states[0].sums.values.map(\.bitPattern))
            }
        }

        /// Values at an address that stays.
        private final class Memory<Value> {
            let base: UnsafeMutablePointer<Value>
            private let count: Int

            init(_ values: [Value]) {
                count = values.count
                base = .allocate(capacity: count)
                base.initialize(from: values, count: count)
            }

            deinit { base.deallocate() }

            var values: [Value] { Array(UnsafeBufferPointer(start: base, count: count)) }
        }

        private struct RowStates {
            let outputs: Memory<Float>
            let maxima: Memory<Float>
            let sums: Memory<Float>

            init(_ rows: Int, _ valueWidth: Int) {
                outputs = Memory([Float](repeating: 0, count: rows * valueWidth))
                maxima = Memory([Float](repeating: -.infinity, count: rows))
                sums = Memory([Float](repeating: 0, count: rows))
            }
        }
    }
#endif
