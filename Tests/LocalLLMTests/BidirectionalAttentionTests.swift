@testable import Compute
import Foundation
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

@Suite struct BidirectionalAttentionTests {
    /// More queries than a tile of blocks has, and neither they nor the keys are a multiple of a block's 32 rows.
    @Test(arguments: [8, 20, 72])
    func `many queries and keys attend as defined`(valueWidth: Int) {
        let (queryCount, keyCount, firstKey) = (301, 75, 5)
        let shape = BidirectionalShape(heads: 4, kvHeads: 2, keyWidth: 20, valueWidth: valueWidth, scale: 0.3)
        var generator = SeededGenerator(seed: 1)
        func random(_ rows: Int, _ columns: Int) -> [Float] {
            (0..<rows * columns).map { _ in Float.random(in: -2...2, using: &generator) }
        }
        func buffer(_ values: [Float]) -> AlignedBuffer {
            let buffer = AlignedBuffer(floats: values.count)
            buffer.floats.update(from: values, count: values.count)
            return buffer
        }
        let (queryColumns, keyColumns, valueColumns) = (
            shape.heads * shape.keyWidth, shape.kvHeads * shape.keyWidth, shape.kvHeads * valueWidth
        )
        let queries = random(queryCount, queryColumns)
        let (keys, values) = (random(keyCount, keyColumns), random(keyCount, valueColumns))
        // What lies before the keys is not read.
        let keyBuffer = buffer([Float](repeating: .nan, count: firstKey * keyColumns) + keys)
        let valueBuffer = buffer([Float](repeating: .nan, count: firstKey * valueColumns) + values)
        let queryBuffer = buffer(queries)
        let output = AlignedBuffer(floats: queryCount * shape.heads * valueWidth)
        Compute(kernels: .best, threads: 2).attention(
            queryBuffer.matrix(rows: queryCount, columns: queryColumns),
            keyBuffer.matrix(rows: firstKey + keyCount, columns: keyColumns),
            valueBuffer.matrix(rows: firstKey + keyCount, columns: valueColumns),
            within: [AttentionSpan(queries: 0..<queryCount, keys: firstKey..<firstKey + keyCount)], shape,
            into: output.matrix(rows: queryCount, columns: shape.heads * valueWidth))

        var expected: [Float] = []
        for query in 0..<queryCount {
            for head in 0..<shape.heads {
                let kvHead = head * shape.kvHeads / shape.heads
                let weights = (0..<keyCount).map { key in
                    var score = 0.0
                    for d in 0..<shape.keyWidth {
                        let (q, k) = (
                            queries[query * queryColumns + head * shape.keyWidth + d],
                            keys[key * keyColumns + kvHead * shape.keyWidth + d]
                        )
                        score += Double(q) * Double(k)
                    }
                    return exp(Double(shape.scale) * score)
                }
                let sum = weights.reduce(0, +)
                for d in 0..<valueWidth {
                    var result = 0.0
                    for key in 0..<keyCount {
                        result += weights[key] * Double(values[key * valueColumns + kvHead * valueWidth + d])
                    }
                    expected.append(Float(result / sum))
                }
            }
        }
        let found = Array(UnsafeBufferPointer(start: output.floats, count: expected.count))
        #expect(normalizedMeanSquaredError(found, expected) < 1e-11)
    }
}
