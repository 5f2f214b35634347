@testable import Compute
import GGUF
import KernelFormats
import Platform
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

// Swift 6.0 crashes at a closure in the suite's traits.
private let boundsOutputs = KernelSet.best.schemes.contains { $0.boundsSplitWeights }

/// Outputs of which only the largest are needed, from split weights, against all outputs.
@Suite(.enabled(if: boundsOutputs, "this processor's kernels do not bound outputs"))
struct BestOutputsTests {
    private static let rows = 16_384

    enum Weights: CaseIterable {
        /// Uniform codes, scales of different magnitudes.
        case uniform
        /// Few large codes, many small ones, as trained weights have them.
        case peaked
        /// Rows that differ in the two lowest bits only, so that all bounds are alike.
        case alike

        func bytes(columns: Int, scale: (_ block: Int) -> Float16 = { Float16(1 + $0 % 5) / 64 }) -> [UInt8] {
            var generator = SeededGenerator(seed: 11)
            var bytes: [UInt8] = []
            bytes.reserveCapacity(BestOutputsTests.rows * columns / 32 * 34)
            for block in 0..<BestOutputsTests.rows * columns / 32 {
                withUnsafeBytes(of: scale(block)) { bytes += $0 }
                for index in 0..<32 {
                    let random = generator.next()
                    let code: Int8 =
                        switch self {
                        case .uniform: Int8(truncatingIfNeeded: random)
                        case .peaked: Int8(truncatingIfNeeded: Int64(bitPattern: random) >> (56 + random % 5))
                        case .alike: Int8(truncatingIfNeeded: index * 4 - 64) + Int8(random % 4)
                        }
                    bytes.append(UInt8(bitPattern: code))
                }
            }
            return bytes
        }
    }

    /// A matrix, packed as an output head.
    private struct Head {
        let compute = Compute(kernels: .best, threads: 2)
        let layer: Linear
        let columns: Int
        private let file: MappedFile

        init(_ bytes: [UInt8], columns: Int) throws {
            self.columns = columns
            file = try MappedFile(path: "head", contents: bytes)
            let tensor = TensorView(
                name: "output.weight", type: .Q8_0, shape: [columns, bytes.count / 34 * 32 / columns], file: file,
                range: 0..<bytes.count)
            layer = Linear(weights: WeightMatrix(tensor, packed: compute.packer.packHead(tensor)))
        }

        func input(tokens: Int, seed: UInt64) -> AlignedBuffer {
            var generator = SeededGenerator(seed: seed)
            let buffer = AlignedBuffer(floats: tokens * columns)
            for index in 0..<tokens * columns {
                // Mostly small, as states have a few large numbers.
                let x = Float.random(in: -1...1, using: &generator)
                buffer.floats[index] = x * x * x * Float(1 + index / columns)
            }
            return buffer
        }

        /// All outputs, and those that `multiplyBest` gives.
        func outputs(_ input: AlignedBuffer, _ wanted: [BestOutputs]) -> (all: [[Float]], best: [[Float]]) {
            let (tokens, rows) = (wanted.count, layer.weights.rows)
            let output = AlignedBuffer(floats: tokens * rows)
            let matrix = output.matrix(rows: tokens, columns: rows)
            func copy() -> [[Float]] {
                (0..<tokens).map { Array(UnsafeBufferPointer(start: matrix[$0], count: rows)) }
            }
            compute.multiply(input.matrix(rows: tokens, columns: columns), by: layer, into: matrix)
            let all = copy()
            compute.multiplyBest(input.matrix(rows: tokens, columns: columns), by: layer, into: matrix, wanted)
            return withExtendedLifetime((input, output)) { (all, copy()) }
        }
    }

    @Test(arguments: Weights.allCases, [32, 288, 576])
    func `the wanted outputs have the same bits, others may be missing`(weights: Weights, columns: Int) throws {
        let head = try Head(weights.bytes(columns: columns), columns: columns)
        defer { head.compute.pool.stop() }
        #expect(head.layer.weights.packed?.isSplit == true)
        for tokens in 1...5 {
            let wanted = (0..<tokens).map { token in
                [
                    BestOutputs(count: 1), BestOutputs(count: 40), BestOutputs(count: 1, margin: 3),
                    BestOutputs(count: 3, margin: 0.5), BestOutputs(count: 2),
                ][(token + tokens) % 5]
            }
            let (all, best) = head.outputs(head.input(tokens: tokens, seed: UInt64(tokens)), wanted)
            for token in 0..<tokens {
                let least = all[token].sorted(by: >)[wanted[token].count - 1] - wanted[token].margin
                #expect(
                    zip(all[token], best[token]).allSatisfy { whole, found in
                        found == whole || found == BestOutputs.lowest && whole < least
                    })
            }
            if weights == .peaked, columns > 32, tokens <= 2 {
                #expect(best[0].count { $0 == BestOutputs.lowest } > Self.rows / 2)
            }
            // Of more rows all outputs are computed.
            if tokens == 5 { #expect(best == all) }
        }
    }

    @Test(arguments: Weights.allCases)
    func `no output exceeds its bound, which is near`(weights: Weights) throws {
        let columns = 576
        let head = try Head(weights.bytes(columns: columns), columns: columns)
        defer { head.compute.pool.stop() }
        let packed = try #require(head.layer.weights.packed)
        for tokens in 1...4 {
            let input = head.input(tokens: tokens, seed: UInt64(tokens))
            let output = AlignedBuffer(floats: tokens * Self.rows)
            let matrix = output.matrix(rows: tokens, columns: Self.rows)
            head.compute.products.removeAll()
            head.compute.products.add(input.matrix(rows: tokens, columns: columns), by: head.layer, into: matrix)
            head.compute.prepare(&head.compute.products)
            let run = BestSearch.Run(
                activations: try #require(head.compute.products.activations[0] as? any BoundingActivations),
                weights: packed, output: matrix, pool: head.compute.pool)
            run.multiply(0..<run.groups)
            let exact = (0..<tokens).map { Array(UnsafeBufferPointer(start: matrix[$0], count: Self.rows)) }
            var search = BestSearch()
            search.bound(run)
            for token in 0..<tokens {
                // The greatest scale is 5/64.
                let magnitude = (0..<columns).reduce(Float(0)) { $0 + abs(input.floats[token * columns + $1]) }
                for row in 0..<Self.rows {
                    let above = matrix[token][row] - exact[token][row]
                    guard above < 0 || above > 3.01 * 5 / 64 * magnitude else { continue }
                    Issue.record("token \(token), row \(row): the bound is \(above) above the output")
                    return
                }
            }
            withExtendedLifetime((input, output)) {}
        }
    }

    @Test func `a state that is not finite makes all outputs so`() throws {
        let head = try Head(Weights.peaked.bytes(columns: 64), columns: 64)
        defer { head.compute.pool.stop() }
        for bad in [Float.nan, .infinity] {
            let input = head.input(tokens: 1, seed: 1)
            input.floats[40] = bad
            #expect(head.outputs(input, [BestOutputs(count: 1)]).best[0].allSatisfy { !$0.isFinite })
        }
    }

    @Test func `a search that reads most weights pauses`() throws {
        let head = try Head(Weights.alike.bytes(columns: 64), columns: 64)
        defer { head.compute.pool.stop() }
        let wanted = [BestOutputs(count: 1, margin: 100)]
        for step in 0..<20 {
            let before = head.compute.unreadBytes
            let (all, best) = head.outputs(head.input(tokens: 1, seed: 2), wanted)
            #expect(best == all)
            if step > 3 { #expect(head.compute.unreadBytes == before) }
        }
    }

    @Test func `weights with negative scales, and small heads, are not split`() throws {
        let negative = Weights.uniform.bytes(columns: 32) { $0 == 9_999 ? -1 : 1 }
        for bytes in [negative, Array(Weights.uniform.bytes(columns: 32).prefix(34 * 1024))] {
            let head = try Head(bytes, columns: 32)
            defer { head.compute.pool.stop() }
            #expect(head.layer.weights.packed?.isSplit == false)
            let (all, best) = head.outputs(head.input(tokens: 1, seed: 3), [BestOutputs(count: 1)])
            #expect(best == all)
        }
    }
}
