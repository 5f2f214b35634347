import KernelFormats

/// Which outputs of a row are wanted: the `count` largest, and all that are at most `margin` below the last of these.
package struct BestOutputs: Sendable, Equatable {
    package var count: Int
    package var margin: Float

    package init(count: Int, margin: Float = 0) { (self.count, self.margin) = (count, margin) }

    /// What an output is set to that was not computed because it cannot be one of the wanted.
    package static let lowest = -Float.greatestFiniteMagnitude
    /// The largest `count`: the rows of more outputs would be spread over most of the weights.
    package static let mostWanted = 128
}

extension Compute {
    /// `output = input · layerᵀ`, of which only the wanted outputs of each row are needed; others are either computed, too, or
    /// `BestOutputs.lowest`. Every output that is computed has the same bits as by `multiply`.
    ///
    /// If the weights are split, their leading part, three quarters of the bytes, gives an upper bound of each output. Only
    /// groups of rows whose bound reaches what the best ones have are read as a whole.
    package func multiplyBest(
        _ input: Matrix, by layer: Linear, into output: Matrix, _ wanted: [BestOutputs], stepRows: [Int]? = nil
    ) {
        guard wanted.count == input.rows, (1...BestSearch.mostRows).contains(input.rows), observer == nil,
            adapters.isEmpty, let weights = layer.weights.packed, weights.isSplit, bestSearch.pays()
        else { return multiply(input, by: layer, into: output, stepRows: stepRows) }
        products.removeAll()
        products.adapters = []
        products.add(input, by: layer, into: output)
        var part = ProfiledPart(name: "")
        timed(part) {
            prepare(&products)
            part = ProfiledPart(products)
            guard let activations = products.activations.first as? any BoundingActivations else { return }
            let search = BestSearch.Run(activations: activations, weights: weights, output: output, pool: pool)
            part.bytes -= Double(bestSearch.find(wanted, search))
        }
    }
}

extension Linear {
    /// Whether outputs are the products with the weights, and nothing else.
    package var isPlain: Bool { scale == 1 && bias == nil && inputRange == nil && outputRange == nil }
}

/// Finds the largest outputs of products with split weights.
///
/// The leading part lacks the two lowest bits of each code. They are 0 to 3; taken as 1.5, a weight is wrong by at most
/// 1.5 times the scale of its block, and the product of a block of 32 columns by at most that times Σ |activations|.
struct BestSearch {
    /// What is searched: the products of one tile.
    struct Run {
        let activations: any BoundingActivations
        let weights: PackedWeights
        let output: Matrix
        let pool: ThreadPool

        var groups: Int { output.columns / PackedLayout.rows }
        var tokens: Int { output.rows }
        var blocks: Int { weights.columns / PackedLayout.columns }

        /// Multiplies all bits of a group, or bounds the outputs of some groups.
        func multiply(_ groups: Range<Int>, bounds: UnsafePointer<Float>? = nil) {
            activations.multiply(by: weights, groups: groups, bounds: bounds, into: output)
        }
    }

    private enum Reading: UInt8 { case bounded, wanted, done }

    /// `PackedProduct.bounds`.
    private var bounds = AlignedBuffer(byteCount: 0)
    /// `[tokens][groups]`: the largest bound of each group.
    private var largest = AlignedBuffer(byteCount: 0)
    /// `[groups]` of `Reading`.
    private var readings = AlignedBuffer(byteCount: 0)
    /// Average share of the groups that were read as a whole, and steps until the next search if it does not pay.
    private var share = 0.0
    private var pause = 0

    /// Of more rows products are limited by their arithmetic, which the leading part does not reduce.
    static let mostRows = 4
    /// The leading part has three quarters of the bytes, so more than this would take longer than all outputs.
    private static let mostShare = 0.15
    private static let stepsOfPause = 64
    /// Groups of rows that a thread takes at least: prefetching begins anew with each run.
    private static let groupsAtOnce = 8

    /// Whether searches pay at the moment. Each call counts as a step.
    mutating func pays() -> Bool {
        guard pause > 0 else { return true }
        pause -= 1
        return false
    }

    /// Bytes of weights that searches did not read.
    private(set) var unreadBytes = 0

    /// - Returns: Bytes of weights that were not read.
    mutating func find(_ wanted: [BestOutputs], _ run: Run) -> Int {
        let (groups, tokens) = (run.groups, run.tokens)
        // With a value that is not finite there are no bounds.
        guard run.activations.isFinite else {
            run.multiply(0..<groups)
            return 0
        }
        bound(run)
        let readings = readings.base.assumingMemoryBound(to: Reading.self)
        readings.update(repeating: .bounded, count: groups)
        // First the groups with the largest bounds, as many as outputs are wanted: their outputs tell what others must reach.
        var first: [Int] = []
        for token in 0..<tokens {
            let bounds = largest.floats + token * groups
            var best = LargestValues(count: wanted[token].count)
            for group in 0..<groups { best.add(bounds[group], at: group) }
            for place in best.places where readings[place.index] == .bounded {
                readings[place.index] = .done
                first.append(place.index)
            }
        }
        run.pool.forEach(first.count) { [first] index, _ in run.multiply(first[index]..<first[index] + 1) }
        var count = first.count
        for token in 0..<tokens {
            let (bounds, outputs) = (largest.floats + token * groups, run.output[token])
            var best = LargestValues(count: wanted[token].count)
            for group in first {
                let row = group * PackedLayout.rows
                for row in row..<row + PackedLayout.rows { best.add(outputs[row], at: row) }
            }
            let least = (best.places[0].value - wanted[token].margin).nextDown
            for group in 0..<groups where readings[group] == .bounded && !(bounds[group] < least) {
                readings[group] = .wanted
                count += 1
            }
        }
        finish(run, readings)
        learn(Double(count) / Double(groups))
        // Those that were read as a whole were read twice, except their trailing parts.
        let trailing = run.blocks * PackedLayout.trailingBytes
        let unread = groups * trailing - count * run.weights.bytes(rows: PackedLayout.rows)
        unreadBytes += unread
        return unread
    }

    /// Computes `largest`. Outputs become upper bounds.
    mutating func bound(_ run: Run) {
        let (groups, tokens) = (run.groups, run.tokens)
        reserve(&bounds, bytes: 4 * run.blocks * run.activations.boundsPerBlock)
        reserve(&largest, bytes: 4 * tokens * groups)
        reserve(&readings, bytes: groups)
        let (bounds, largest) = (bounds.floats, largest.floats)
        run.activations.fillBounds(bounds)
        run.pool.forEachRun((groups + Self.groupsAtOnce - 1) / Self.groupsAtOnce) { items, _ in
            let range =
                items.lowerBound * Self.groupsAtOnce..<min(items.upperBound * Self.groupsAtOnce, groups)
            run.multiply(range, bounds: bounds)
            for token in 0..<tokens {
                let outputs = UnsafeRawPointer(run.output[token])
                for group in range {
                    let values = outputs.loadUnaligned(
                        fromByteOffset: 4 * PackedLayout.rows * group, as: SIMD16<Float>.self)
                    largest[token * groups + group] = values.largest
                }
            }
        }
    }

    /// Computes the wanted groups, and sets the others' outputs to the lowest number.
    private func finish(_ run: Run, _ readings: UnsafeMutablePointer<Reading>) {
        let groups = run.groups
        let atOnce = 64
        run.pool.forEach((groups + atOnce - 1) / atOnce) { item, _ in
            for group in item * atOnce..<min((item + 1) * atOnce, groups) {
                switch readings[group] {
                case .done: break
                case .wanted: run.multiply(group..<group + 1)
                case .bounded:
                    for token in 0..<run.tokens {
                        (run.output[token] + group * PackedLayout.rows).update(
                            repeating: BestOutputs.lowest, count: PackedLayout.rows)
                    }
                }
            }
        }
    }

    private mutating func learn(_ share: Double) {
        self.share += (share - self.share) / 8
        guard self.share > Self.mostShare else { return }
        pause = Self.stepsOfPause
        self.share = 0
    }

    private func reserve(_ buffer: inout AlignedBuffer, bytes: Int) {
        if buffer.byteCount < bytes { buffer = AlignedBuffer(byteCount: bytes) }
    }
}

/// The `count` largest of the values that were added, of equal ones the first, with their places.
package struct LargestValues {
    /// Ascending.
    package private(set) var places: [(value: Float, index: Int)] = []
    private let count: Int

    package init(count: Int) { self.count = count }

    /// Whether there are as many as wanted.
    package var isFull: Bool { places.count == count }

    package mutating func add(_ value: Float, at index: Int) {
        if isFull {
            guard value > places[0].value else { return }
            places.removeFirst()
        }
        places.insert((value, index), at: places.firstIndex { $0.value > value } ?? places.count)
    }
}

extension SIMD16<Float> {
    /// The same as `max()`, in a third of the time.
    @inlinable
    package var largest: Float {
        var eight = lowHalf
        eight.replace(with: highHalf, where: highHalf .> eight)
        var four = eight.lowHalf
        four.replace(with: eight.highHalf, where: eight.highHalf .> four)
        return Swift.max(Swift.max(four[0], four[1]), Swift.max(four[2], four[3]))
    }
}
