import Compute
import Constraint
import Platform
import KernelFormats
import KernelsPortable

/// The candidate tokens with their logits, which the filters narrow down.
///
/// Reused from token to token, so that sampling does not allocate.
struct Candidates {
    private(set) var ids: [Int32] = []
    private(set) var logits: [Float] = []
    private(set) var isSorted = false
    private var order: [Int] = []
    /// The largest logit of each block of 64.
    private var largest: [Float] = []

    var count: Int { ids.count }

    mutating func reset(to logits: UnsafeBufferPointer<Float>) {
        removeAll()
        add(0..<logits.count, of: logits)
    }

    /// The tokens in the mask; all, if it has none of them.
    mutating func reset(to logits: UnsafeBufferPointer<Float>, in mask: TokenMask) {
        removeAll()
        mask.forEachRun(below: logits.count) { add($0, of: logits) }
        if ids.isEmpty { add(0..<logits.count, of: logits) }
    }

    /// The wanted logits, and some more if not all were computed.
    mutating func reset(to logits: UnsafeBufferPointer<Float>, _ wanted: BestOutputs) {
        removeAll()
        let blocks = (logits.count + 63) / 64
        func block(_ index: Int) -> Range<Int> { index * 64..<min(index * 64 + 64, logits.count) }
        largest.removeAll(keepingCapacity: true)
        var best = LargestValues(count: wanted.count)
        for index in 0..<blocks {
            largest.append(Self.largest(logits, block(index)))
            best.add(largest[index], at: index)
        }
        // As many blocks as logits are wanted have one that is at least the smallest of their maxima. What was not computed is
        // not wanted.
        let least = max(BestOutputs.lowest.nextUp, best.isFull ? best.places[0].value - wanted.margin : -.infinity)
        for index in 0..<blocks where largest[index] >= least {
            for token in block(index) where logits[token] >= least { add(token..<token + 1, of: logits) }
        }
    }

    private mutating func removeAll() {
        logits.removeAll(keepingCapacity: true)
        ids.removeAll(keepingCapacity: true)
        isSorted = false
    }

    private mutating func add(_ tokens: Range<Int>, of logits: UnsafeBufferPointer<Float>) {
        self.logits.append(contentsOf: UnsafeBufferPointer(rebasing: logits[tokens]))
        ids.append(contentsOf: Int32(tokens.lowerBound)..<Int32(tokens.upperBound))
    }

    mutating func adjust(_ id: Int32, _ change: (Float) -> Float) {
        guard logits.indices.contains(Int(id)) else { return }
        let largest = Float.greatestFiniteMagnitude
        // The filters need finite logits; a penalty on a huge one may overflow.
        logits[Int(id)] = max(-largest, min(largest, change(logits[Int(id)])))
    }

    var maximum: Float { logits.max() ?? 0 }

    /// The most likely token of those in the mask; ties by lowest ID. `nil` if the mask has no token.
    static func mostLikely(in logits: UnsafeBufferPointer<Float>, _ mask: TokenMask?) -> Int32? {
        var best = -1
        var most = -Float.infinity
        func search(_ range: Range<Int>) {
            let highest = largest(logits, range)
            guard highest > most else { return }
            most = highest
            best = range.first { logits[$0] == highest } ?? best
        }
        guard let mask else {
            search(0..<logits.count)
            return Int32(best)
        }
        mask.forEachRun(below: logits.count, search)
        return best < 0 ? nil : Int32(best)
    }

    private static func largest(_ logits: UnsafeBufferPointer<Float>, _ range: Range<Int>) -> Float {
        guard range.count >= 16 else { return logits[range].reduce(-.infinity, max) }
        var most = SIMD16<Float>(repeating: -.infinity)
        var index = range.lowerBound
        while index + 16 <= range.upperBound {
            let values = UnsafeRawPointer(logits.baseAddress! + index).loadUnaligned(as: SIMD16<Float>.self)
            most.replace(with: values, where: values .> most)
            index += 16
        }
        return logits[index..<range.upperBound].reduce(most.largest, max)
    }

    /// The most likely candidate; ties by lowest ID.
    var mostLikely: Int32 {
        var best = 0
        for index in logits.indices where logits[index] > logits[best] { best = index }
        return ids[best]
    }

    /// Most likely first; ties by ID, so that the result does not depend on the sort.
    mutating func sort() {
        guard !isSorted else { return }
        order.removeAll(keepingCapacity: true)
        order.append(contentsOf: ids.indices)
        order.sort { logits[$0] != logits[$1] ? logits[$0] > logits[$1] : ids[$0] < ids[$1] }
        reorder()
        isSorted = true
    }

    /// Keeps the first `count` of the sorted candidates.
    mutating func keepFirst(_ count: Int) {
        ids.removeLast(max(0, ids.count - count))
        logits.removeLast(max(0, logits.count - count))
    }

    /// Drops the first `count` of the sorted candidates.
    mutating func dropFirst(_ count: Int) {
        ids.removeFirst(min(count, ids.count))
        logits.removeFirst(min(count, logits.count))
    }

    /// Drops these tokens, unless none would be left. The candidates must be in the order of their IDs.
    mutating func drop(_ tokens: Set<Int32>) {
        let places = tokens.compactMap { place(of: $0) }.sorted(by: >)
        guard places.count < count else { return }
        for place in places {
            ids.remove(at: place)
            logits.remove(at: place)
        }
    }

    private func place(of token: Int32) -> Int? {
        var (low, high) = (0, ids.count)
        while low < high {
            let middle = (low + high) / 2
            if ids[middle] < token { low = middle + 1 } else { high = middle }
        }
        return low < ids.count && ids[low] == token ? low : nil
    }

    /// Drops the tokens that are not in the mask, unless none would be left.
    mutating func keep(_ mask: TokenMask) {
        guard ids.contains(where: { mask.contains($0) }) else { return }
        compact { id, _ in mask.contains(id) }
    }

    /// Multiplies all logits by a positive factor.
    mutating func scale(by factor: Float) {
        for index in logits.indices { logits[index] *= factor }
    }

    /// Index of a candidate drawn with these probabilities.
    func draw(_ probabilities: [Double], using random: inout SplitMix64) -> Int {
        var point = Double.random(in: 0..<1, using: &random)
        for (index, probability) in probabilities.enumerated() {
            point -= probability
            if point < 0 { return index }
        }
        // Reached if rounding makes the probabilities sum to less than 1.
        return logits.indices.max { logits[$0] < logits[$1] } ?? 0
    }

    /// Keeps the candidates with at least this logit, in their current order.
    mutating func keep(atLeast threshold: Float) { compact { _, logit in logit >= threshold } }

    /// Keeps the candidates that `isKept` accepts, in their current order.
    private mutating func compact(_ isKept: (_ id: Int32, _ logit: Float) -> Bool) {
        var (ids, logits) = (exchange(&self.ids, with: []), exchange(&self.logits, with: []))
        var kept = 0
        for index in ids.indices where isKept(ids[index], logits[index]) {
            (ids[kept], logits[kept]) = (ids[index], logits[index])
            kept += 1
        }
        (self.ids, self.logits) = (ids, logits)
        keepFirst(kept)
    }

    /// Sorts the `k` most likely candidates and drops the others.
    ///
    /// Only candidates that may be among them are sorted: a histogram over the leading 16 bits of the logits tells which.
    mutating func keepMostLikely(_ k: Int) {
        if !isSorted, k < count {
            var histogram = [Int](repeating: 0, count: 1 << 16)
            for logit in logits { histogram[Self.bucket(logit)] += 1 }
            var (least, above) = (histogram.count - 1, histogram[histogram.count - 1])
            while above < k {
                least -= 1
                above += histogram[least]
            }
            compact { _, logit in Self.bucket(logit) >= least }
        }
        sort()
        keepFirst(k)
    }

    /// The leading 16 bits of a logit, mapped so that larger logits have larger values.
    private static func bucket(_ logit: Float) -> Int {
        // Zeros of both signs are equal.
        let bits = (logit + 0).bitPattern >> 16
        return Int(bits >> 15 == 0 ? bits | 0x8000 : ~bits & 0xffff)
    }

    /// Keeps the candidates at `indices`, in this order.
    mutating func keep(_ indices: [Int]) {
        order = indices
        reorder()
        isSorted = false
    }

    /// Probability of each candidate at the given temperature. `into` is reused.
    func probabilities(temperature: Double = 1, into result: inout [Double]) {
        result.removeAll(keepingCapacity: true)
        let maximum = Double(self.maximum)
        var sum = 0.0
        for logit in logits {
            let weight = exp((Double(logit) - maximum) / temperature)
            sum += weight
            result.append(weight)
        }
        for index in result.indices { result[index] /= sum }
    }

    private mutating func reorder() {
        ids = order.map { ids[$0] }
        logits = order.map { logits[$0] }
    }
}

extension TokenMask {
    /// Calls `body` with the tokens of the mask that are below `limit`, ascending, as ranges within words of the mask.
    fileprivate func forEachRun(below limit: Int, _ body: (Range<Int>) -> Void) {
        for (index, word) in words.enumerated() where word != 0 {
            var (rest, start) = (word, index * 64)
            while rest != 0 {
                start += rest.trailingZeroBitCount
                rest >>= UInt64(rest.trailingZeroBitCount)
                let count = (~rest).trailingZeroBitCount
                guard start < limit else { return }
                body(start..<min(start + count, limit))
                guard count < 64 else { break }
                start += count
                rest >>= UInt64(count)
            }
        }
    }
}

extension Matrix {
    /// Whether all values of a row are finite.
    package func isFinite(_ row: Int) -> Bool { firstNonFiniteBlock(.F32, self[row], count: columns) == nil }
}
