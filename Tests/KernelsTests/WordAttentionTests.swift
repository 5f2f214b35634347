#if arch(x86_64)
    import CIntrinsics
    import Foundation
    import KernelFormats
    import KernelsAVX2
    import KernelsAVX512
    import KernelsAVXVNNI
    import TestSupport
    import Testing

    /// Attention in 16-bit integers, against attention in double precision.
    @Suite(.enabled(if: cpu_has_avx2_fma_f16c() != 0, "this processor has no AVX2"))
    struct WordAttentionTests {
        /// Tiers for keys of 16 bits, and of 8 bits.
        private static let ofKeys =
            X86Tier.available.map { ($0, false) } + X86Tier.available.filter { $0 == .avx512 }.map { ($0, true) }

        /// Some pages of tokens and 32 rows that attend to them.
        private struct Problem {
            let tier: X86Tier
            let keyWidth: Int
            let valueWidth: Int
            /// Whether the keys of all pages but the first are bytes.
            var hasByteKeys = false
            var changes = (softcap: Float(0), slope: Float(0))
            /// `[rows][D]`
            var queries: [[Float]]
            /// `[pages][tokens][D]` and `[pages][tokens][Dv]`
            var keys: [[[Float]]]
            var values: [[[Float]]]
            /// `[pages][rows]`
            var visible: [[Range<Int>]]

            init(_ tier: X86Tier, _ widths: (key: Int, value: Int), pages: Int = 3, seed: UInt64) {
                self.tier = tier
                var generator = SeededGenerator(seed: seed)
                (keyWidth, valueWidth) = widths
                /// Numbers that halves hold exactly; every seventh is larger, and some vectors are.
                func vectors(_ count: Int, _ width: Int, _ size: Float) -> [[Float]] {
                    (0..<count).map { index in
                        let size = index % 5 == 2 ? size / 16 : size
                        return (0..<width).map {
                            let x = Float.random(in: -size...size, using: &generator)
                            return Float(Float16($0 % 7 == 0 ? 3 * x : x))
                        }
                    }
                }
                queries = vectors(32, keyWidth, 3 / Float(keyWidth).squareRoot())
                keys = (0..<pages).map { _ in vectors(32, widths.key, 1) }
                values = (0..<pages).map { _ in vectors(32, widths.value, 1) }
                // The first page is hidden from some rows, partly or as a whole, the second of more than two from the last
                // 16; the last one is as in a prompt.
                visible = (0..<pages).map { page in
                    (0..<32).map { row in
                        if page == 0 { return row % 3 == 0 ? 0..<0 : row % 5..<32 }
                        if page == pages - 1 { return 0..<row + 1 }
                        return page == 1 && row >= 16 ? 0..<0 : 0..<32
                    }
                }
            }

            func scoreChanges(_ slopes: inout [Float], _ offsets: inout [Float], page: Int) -> Bool {
                slopes = [Float](repeating: changes.slope, count: 32)
                offsets = (0..<32).map { Float(32 * page - 32 * keys.count - $0) }
                return changes.softcap != 0 || changes.slope != 0
            }

            private func halves(_ page: Int) -> [UInt16] {
                floats(page).map { Float16($0).bitPattern }
            }

            private func floats(_ page: Int) -> [Float] {
                (0..<keyWidth).flatMap { d in (0..<32).map { keys[page][$0][d] } } + values[page].flatMap { $0 }
            }

            /// The mean of the first page's keys.
            private var base: [Float] {
                (0..<keyWidth).map { d in keys[0].reduce(0) { $0 + $1[d] } / 32 }
            }

            private func wordPage(_ base: UnsafeMutableRawPointer, _ page: Int) -> WordPage {
                WordPage(
                    base, keyWidth: keyWidth, valueWidth: valueWidth, hasByteKeys: hasByteKeys && page > 0)
            }

            /// A page as integers, as bytes.
            func words(_ page: Int, fromHalves: Bool) -> [Int32] {
                var words = [Int32](repeating: -1, count: WordPage.count(keyWidth: keyWidth, valueWidth: valueWidth))
                words.withUnsafeMutableBytes {
                    let target = wordPage($0.baseAddress!, page)
                    for d in 0..<keyWidth { target.keyBase[d] = base[d] }
                    if fromHalves {
                        tier.roundHalves(halves(page), into: target)
                    } else {
                        tier.roundPage(floats(page), into: target)
                    }
                }
                return words
            }

            /// `[rows][Dv]`
            func attend() -> [[Float]] {
                var side = (0..<keyWidth).flatMap { d in queries.map { $0[d] } }
                var scales = [Float](repeating: 0, count: 32)
                tier.roundQueries(&side, width: keyWidth, scales: &scales)
                if hasByteKeys {
                    var room = side
                    side.withUnsafeMutableBytes {
                        KernelsAVX512.roundByteQueries(
                            ByteQueries(after: $0.baseAddress!, width: keyWidth), scales, base: base, room: &room)
                    }
                }
                var outputs = [Float](repeating: 0, count: 32 * valueWidth)
                var maxima = [Float](repeating: -.infinity, count: 32)
                var sums = [Float](repeating: 0, count: 32)
                var scratch = [Float](repeating: .nan, count: 32 * 32)
                var (slopes, offsets) = ([Float](), [Float]())
                for page in keys.indices {
                    var words = words(page, fromHalves: true)
                    let first = visible[page].map { Int32($0.lowerBound) }
                    let end = visible[page].map { Int32($0.upperBound) }
                    let isChanged = scoreChanges(&slopes, &offsets, page: page)
                    words.withUnsafeMutableBytes { words in
                        slopes.withUnsafeBufferPointer { slopes in
                            offsets.withUnsafeBufferPointer { offsets in
                                tier.attend(
                                    WordAttention(
                                        count: 1, stride: 0, queries: &side, scales: scales, outputs: &outputs,
                                        first: first, end: end,
                                        page: wordPage(words.baseAddress!, page),
                                        maxima: &maxima, sums: &sums, scratch: &scratch,
                                        changes: isChanged
                                            ? ScoreChanges(
                                                softcap: changes.softcap, slopes: slopes.baseAddress,
                                                offsets: offsets.baseAddress) : ScoreChanges()))
                            }
                        }
                    }
                }
                return (0..<32).map { row in (0..<valueWidth).map { outputs[32 * $0 + row] / sums[row] } }
            }

            /// The step of the integers of a vector.
            private static func step(_ x: [Float]) -> Double {
                let length = x.reduce(0) { $0 + Double($1) * Double($1) }.squareRoot()
                return max(length / 46_300, x.reduce(0) { max($0, Double(abs($1))) } / 32_767, 0x1p-70) * 1.000_001
            }

            private static func valueStep(_ x: [Float]) -> Double {
                max(0x1p-24, x.reduce(0) { max($0, Double(abs($1))) }) / 8191 * 1.125
            }

            /// How much half a step for each byte of a query and a key can change their product.
            private func byteError(_ query: [Double], _ key: [Double]) -> Double {
                let (q, k) = (rotated(query), rotated(zip(key, base).map { $0 - Double($1) }))
                func sum(_ x: [Double]) -> Double { x.reduce(0) { $0 + abs($1) } }
                func step(_ x: [Double]) -> Double { x.reduce(0) { max($0, abs($1)) } / 127 * 1.001 }
                let both = step(q) * sum(k) + step(k) * (sum(q) + step(q) * Double(keyWidth))
                return 0.51 * both / Double(keyWidth) + 1e-5
            }

            private func rotated(_ x: [Double]) -> [Double] {
                x.indices.map { row in
                    zip(x, x.indices).reduce(0) { ($1.1 & row).nonzeroBitCount % 2 == 0 ? $0 + $1.0 : $0 - $1.0 }
                }
            }

            /// A row's exact results, and how far others may be from them.
            func exact(_ row: Int) -> (results: [Double], tolerance: [Double]) {
                let query = queries[row].map(Double.init)
                let queryStep = Self.step(queries[row])
                var tokens: [(weight: Double, score: Double, error: Double, value: [Float], page: Int)] = []
                for page in keys.indices {
                    for token in visible[page][row] {
                        let key = keys[page][token].map(Double.init)
                        let keyStep = Self.step(keys[page][token])
                        var score = zip(query, key).reduce(0) { $0 + $1.0 * $1.1 }
                        // Half a step for each number.
                        var error = 0.51 * queryStep * key.reduce(0) { $0 + abs($1) } + abs(score) * 0x1p-20
                        error +=
                            hasByteKeys && page > 0
                            ? byteError(query, key)
                            : 0.51 * keyStep * query.reduce(0) { $0 + abs($1) + queryStep }
                        if changes.softcap != 0 {
                            score = Double(changes.softcap) * tanh(score / Double(changes.softcap))
                        }
                        let distance = Double(32 * page - 32 * keys.count - row + token)
                        score += Double(changes.slope) * distance
                        error += abs(Double(changes.slope) * distance) * 0x1p-20 + 1e-5
                        tokens.append((0, score, error, values[page][token], page))
                    }
                }
                let highest = tokens.reduce(-Double.infinity) { max($0, $1.score) }
                for index in tokens.indices { tokens[index].weight = exp(tokens[index].score - highest) }
                let total = tokens.reduce(0) { $0 + $1.weight }
                let totalError = tokens.reduce(0) { $0 + $1.weight * (1.1 * $1.error + 1e-5) }
                // Weights are rounded relative to the largest of their page, values included.
                let largest = keys.indices.map { page in
                    tokens.filter { $0.page == page }.reduce(0) { max($0, $1.weight * Self.valueStep($1.value)) } * 1.01
                }
                var (results, tolerance) = ([Double](), [Double]())
                for d in 0..<valueWidth {
                    var (sum, error) = (0.0, 0.0)
                    for token in tokens {
                        let (value, step) = (Double(token.value[d]), Self.valueStep(token.value))
                        sum += token.weight * value
                        let rounding = 0.51 / 8191 * largest[token.page] / step
                        let weightError = token.weight * (1.1 * token.error + 1e-5) + rounding
                        error += weightError * abs(value) + (token.weight + weightError) * 0.51 * step
                    }
                    results.append(sum / total)
                    tolerance.append((error + abs(sum / total) * totalError) / (total - totalError) + 1e-7)
                }
                return (results, tolerance)
            }
        }

        private func expectExact(_ problem: Problem) {
            let found = problem.attend()
            var (error, square) = (0.0, 0.0)
            for row in 0..<32 {
                let (exact, tolerance) = problem.exact(row)
                for d in exact.indices {
                    let difference = abs(Double(found[row][d]) - exact[d])
                    #expect(difference <= tolerance[d], "row \(row), column \(d)")
                    error += difference * difference
                    square += exact[d] * exact[d]
                }
            }
            #expect(error / square < (problem.hasByteKeys ? 2e-4 : 1e-6))
        }

        @Test(arguments: X86Tier.available, [(64, 64), (128, 128), (1, 16), (33, 72), (192, 128), (576, 512)])
        func `attention is that of the page`(_ tier: X86Tier, _ widths: (Int, Int)) {
            expectExact(Problem(tier, widths, seed: 1))
        }

        @Test(
            .enabled(if: KernelsAVX512.isSupported(), "this processor has no AVX-512 with VNNI"),
            arguments: [(32, 64), (64, 64), (128, 72), (256, 256)])
        func `attention with keys of 8 bits`(_ widths: (Int, Int)) {
            var problem = Problem(.avx512, widths, seed: 9)
            problem.hasByteKeys = true
            // What keys have in common may be large.
            for page in problem.keys.indices { for token in 0..<32 { problem.keys[page][token][3] += 20 } }
            expectExact(problem)
        }

        @Test(arguments: X86Tier.available, [(Float(5), Float(0)), (0, 0.1), (5, 0.1)])
        func `softcap and linear bias`(_ tier: X86Tier, _ changes: (Float, Float)) {
            var problem = Problem(tier, (64, 64), seed: 2)
            problem.changes = changes
            expectExact(problem)
        }

        /// A first token with most of the weight, and a value of almost nothing.
        @Test(arguments: X86Tier.available)
        func `weights far below a row's largest keep their precision`(_ tier: X86Tier) {
            var problem = Problem(tier, (64, 64), pages: 12, seed: 3)
            problem.visible[0] = problem.visible[0].map { _ in 0..<32 }
            for row in 0..<32 {
                problem.queries[row] = problem.queries[row].map { $0 / 4 }
                problem.queries[row][0] = 1
            }
            for page in 0..<12 { for token in 0..<32 { problem.keys[page][token][0] = page + token == 0 ? 7 : -1 } }
            problem.values[0][0] = problem.values[0][0].map { $0 * 0x1p-10 }
            expectExact(problem)
        }

        @Test(arguments: Self.ofKeys)
        func `halves and floats become the same integers`(_ tier: X86Tier, _ hasByteKeys: Bool) {
            var problem = Problem(tier, (hasByteKeys ? 64 : 33, 72), seed: 4)
            problem.hasByteKeys = hasByteKeys
            #expect(problem.words(1, fromHalves: true) == problem.words(1, fromHalves: false))
        }

        @Test(arguments: Self.ofKeys, [(64, 64), (33, 72)])
        func `a row's bits depend neither on other rows nor on tokens that it does not see`(
            _ keys: (tier: X86Tier, areBytes: Bool), _ widths: (Int, Int)
        ) {
            let hasByteKeys = keys.areBytes && ByteKeys.fits(widths.0)
            var problem = Problem(keys.tier, widths, seed: 5)
            problem.hasByteKeys = hasByteKeys
            let expected = problem.attend()
            let row = 9
            var other = Problem(keys.tier, widths, seed: 6)
            other.hasByteKeys = hasByteKeys
            // All rows see the first page where others are bytes.
            if hasByteKeys { other.keys[0] = problem.keys[0] }
            other.queries[row] = problem.queries[row]
            for page in problem.keys.indices {
                other.visible[page][row] = problem.visible[page][row]
                for token in problem.visible[page][row] {
                    other.keys[page][token] = problem.keys[page][token]
                    other.values[page][token] = problem.values[page][token]
                }
            }
            other.keys[2][row + 1][0] = .nan
            other.values[2][row + 2][3] = .infinity
            #expect(other.attend()[row].map(\.bitPattern) == expected[row].map(\.bitPattern))
        }

        @Test(arguments: Self.ofKeys)
        func `numbers that are not finite are not lost`(_ tier: X86Tier, _ hasByteKeys: Bool) {
            for odd in [Float.nan, .infinity, -.infinity] {
                var problem = Problem(tier, (64, 64), seed: 7)
                problem.hasByteKeys = hasByteKeys
                problem.queries[3][63] = odd
                problem.keys[2][20][5] = odd
                var found = problem.attend()
                for row in 0..<32 { #expect(found[row].allSatisfy(\.isNaN) == (row == 3 || row >= 20)) }
                problem = Problem(tier, (64, 64), seed: 7)
                problem.hasByteKeys = hasByteKeys
                problem.values[2][25][63] = odd
                found = problem.attend()
                for row in 0..<32 { #expect(found[row].allSatisfy(\.isNaN) == (row >= 25)) }
            }
        }

        /// The largest sums that 32 bits have to hold.
        @Test(arguments: Self.ofKeys)
        func `sums do not overflow`(_ tier: X86Tier, _ hasByteKeys: Bool) {
            for (sign, size) in [(1, 1.999), (-1, 1.999), (1, 1), (1, 0x1.ffcp15)] as [(Float, Float)] {
                var problem = Problem(tier, (64, 64), pages: 2, seed: 8)
                problem.hasByteKeys = hasByteKeys
                problem.keys = problem.keys.map { $0.map { _ in (0..<64).map { $0 % 3 == 0 ? 1 : -0.5 } } }
                problem.queries = problem.queries.map { _ in (0..<64).map { $0 % 3 == 0 ? 1 : -0.5 } }
                let value = sign * Float(Float16(size))
                problem.values = problem.values.map { $0.map { $0.map { _ in value } } }
                for results in problem.attend() {
                    for result in results { #expect(abs(result - value) <= abs(value) * 1e-3) }
                }
            }
        }
    }

    extension X86Tier {
        fileprivate func roundQueries(_ queries: inout [Float], width: Int, scales: inout [Float]) {
            let round = self == .avx512 ? KernelsAVX512.roundQueries : KernelsAVX2.roundQueries
            round(&queries, width, &scales)
        }

        fileprivate func roundPage(_ floats: [Float], into page: WordPage) {
            let round = self == .avx512 ? KernelsAVX512.roundPage : KernelsAVX2.roundPage
            round(floats, page)
        }

        fileprivate func roundHalves(_ halves: [UInt16], into page: WordPage) {
            let round = self == .avx512 ? KernelsAVX512.roundHalves : KernelsAVX2.roundHalves
            halves.withUnsafeBytes { round($0.baseAddress!, page, $0.baseAddress!) }
        }

        fileprivate func attend(_ work: WordAttention) {
            switch self {
            case .avx2: KernelsAVX2.attendWords(work)
            case .avxVNNI: KernelsAVXVNNI.attendWords(work)
            case .avx512: KernelsAVX512.attendWords(work)
            }
        }
    }
#endif
