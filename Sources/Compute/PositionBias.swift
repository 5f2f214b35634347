import Foundation

/// A bias on attention scores by the distance between query and key.
///
/// Used by the engine's thread only: the table grows to the longest input.
package final class PositionBias {
    private let heads: Int
    /// The bias of a head at a distance: position of the key minus position of the query.
    private let bias: (_ head: Int, _ distance: Int) -> Float
    private var longest = 0
    private var columns: Int { 2 * longest - 1 }
    private var buffer = AlignedBuffer(byteCount: 0)

    init(heads: Int, _ bias: @escaping (_ head: Int, _ distance: Int) -> Float) {
        self.heads = heads
        self.bias = bias
    }

    /// `[heads, 2n − 1]` for some n ≥ `longest`; distance 0 is the middle column.
    func table(longest needed: Int) -> Matrix {
        if needed > longest {
            longest = max(needed, 2 * longest)
            buffer = AlignedBuffer(floats: heads * columns)
            let table = buffer.matrix(rows: heads, columns: columns)
            for head in 0..<heads {
                for column in 0..<columns { table[head][column] = bias(head, column - longest + 1) }
            }
        }
        return buffer.matrix(rows: heads, columns: columns)
    }
}

extension PositionBias {
    /// Symmetric ALiBi: `−slope · |distance|` (Press et al. 2022). Slopes for head counts that are not a power of two
    /// follow the paper's code.
    package static func alibi(heads: Int, maximumBias: Double = 8) -> PositionBias {
        let slopes = alibiSlopes(heads: heads, maximumBias: maximumBias)
        return PositionBias(heads: heads) { head, distance in -slopes[head] * Float(abs(distance)) }
    }

    static func alibiSlopes(heads: Int, maximumBias: Double) -> [Float] {
        var power = 1
        while 2 * power <= heads { power *= 2 }
        return (0..<heads).map { head in
            let exponent =
                head < power ? Double(head + 1) / Double(power) : (Double(head - power) + 0.5) / Double(power)
            return Float(pow(2, -maximumBias * exponent))
        }
    }

    /// T5's learned biases, one per bucket of distances (Raffel et al. 2020).
    ///
    /// - Parameters:
    ///   - weights: `[buckets, heads]`.
    ///   - isBidirectional: Whether half of the buckets are for keys after the query. If not, such keys are masked.
    package static func relative(_ weights: [Float], heads: Int, isBidirectional: Bool) -> PositionBias {
        let buckets = weights.count / heads
        return PositionBias(heads: heads) { head, distance in
            if distance > 0, !isBidirectional { return -.infinity }
            return weights[bucket(of: distance, buckets: buckets, isBidirectional: isBidirectional) * heads + head]
        }
    }

    /// Small distances have one bucket each; larger ones share buckets on a logarithmic scale, up to 128 tokens.
    static func bucket(of distance: Int, buckets: Int, isBidirectional: Bool) -> Int {
        let count = isBidirectional ? buckets / 2 : buckets
        let first = isBidirectional && distance > 0 ? count : 0
        let far = isBidirectional ? abs(distance) : max(0, -distance)
        let exact = count / 2
        guard far >= exact, exact > 0 else { return first + min(far, count - 1) }
        // In the reference's precision, since the result is truncated.
        let ratio = logf(Float(Double(far) / Double(exact))) * Float(count - exact)
        let index = Float(Double(exact) + Double(ratio) / log(128 / Double(exact)))
        return first + min(Int(index.rounded(.down)), count - 1)
    }
}
