@testable import Compute
import KernelFormats
import Platform
import Synchronization
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// Matrices whose rows are no multiple of the 16 that a packed group holds.
@Suite struct RepackingTests {
    private static let columns = 96

    /// Random codes, which F32, F16 and Q8_0 with a scale of 1/64 hold exactly as `code / 64`.
    private static func codes(rows: Int) -> [Int8] {
        var generator = SeededGenerator(seed: 5)
        return (0..<rows * columns).map { _ in Int8.random(in: -127...127, using: &generator) }
    }

    private static func bytes(_ codes: [Int8], _ type: TensorType) -> [UInt8] {
        var bytes: [UInt8] = []
        func append(_ value: some BitwiseCopyable) { withUnsafeBytes(of: value) { bytes += $0 } }
        for (index, code) in codes.enumerated() {
            switch type {
            case .F32: append(Float(code) / 64)
            case .F16: append(Float16(code) / 64)
            default:
                if index % 32 == 0 { append(Float16(1) / 64) }
                append(code)
            }
        }
        return bytes
    }

    @Test(arguments: [.F32, .F16, .Q8_0] as [TensorType], [15, 16, 17, 50])
    func `rows behind the last group are multiplied as well`(type: TensorType, rows: Int) throws {
        let codes = Self.codes(rows: rows)
        let bytes = Self.bytes(codes, type)
        let timesComputed = Mutex(0)
        let file = try MappedFile(path: "weights", byteCount: bytes.count) { memory in
            timesComputed.withLock { $0 += 1 }
            memory.copyBytes(from: bytes)
        }
        let compute = Compute(kernels: .best, threads: 2)
        defer { compute.pool.stop() }
        let tensor = TensorView(
            name: "weights", type: type, shape: [Self.columns, rows], file: file, range: 0..<bytes.count)
        let weights = WeightMatrix(tensor, packed: compute.packer.pack(tensor))
        for tokens in [1, 3, 20] {
            for part in [0..<rows, rows / 32 * 16..<rows] {
                let input = AlignedBuffer(floats: tokens * Self.columns)
                for index in 0..<tokens * Self.columns { input.floats[index] = Float(index * 37 % 61) / 30 - 1 }
                let output = AlignedBuffer(floats: tokens * part.count)
                compute.multiply(
                    input.matrix(rows: tokens, columns: Self.columns), by: Linear(weights: weights[rows: part]),
                    into: output.matrix(rows: tokens, columns: part.count), exact: tokens / 2)
                var (found, expected): ([Float], [Float]) = ([], [])
                for token in 0..<tokens {
                    for (place, row) in part.enumerated() {
                        var sum = 0.0
                        for column in 0..<Self.columns {
                            sum +=
                                Double(input.floats[token * Self.columns + column])
                                * Double(codes[row * Self.columns + column]) / 64
                        }
                        expected.append(Float(sum))
                        found.append(output.floats[token * part.count + place])
                    }
                }
                // The error of a product with activations in 8 bits is 3e-5.
                #expect(normalizedMeanSquaredError(found, expected) < 1e-4)
                withExtendedLifetime((input, output)) {}
            }
        }
        let isRepacked = compute.kernels.packedFormats.contains(type) && rows >= 16
        #expect((weights.packed != nil || weights.packedFloats != nil) == isRepacked)
        // The rest is kept in memory, and not computed again for each product.
        #expect(timesComputed.withLock { $0 } == 1)
    }

    @Test func `repacked matrices share blocks of memory that begin at huge pages`() throws {
        let packing = PackingMemory()
        let first = try #require(packing.allocate(bytes: 100))
        #expect(first.offset == 0)
        #expect(Int(bitPattern: first.memory.base) % RepackedWeights.Memory.hugePageBytes == 0)
        let second = try #require(packing.allocate(bytes: PackingMemory.blockBytes - 128))
        #expect(second.memory === first.memory && second.offset == 128)
        let third = try #require(packing.allocate(bytes: PackingMemory.blockBytes + 1))
        #expect(third.memory !== first.memory && third.offset == 0)
        #expect(third.memory.byteCount > PackingMemory.blockBytes)
        for matrix in [first, second, third] {
            let last = matrix.memory.base + matrix.memory.byteCount - 1
            last.storeBytes(of: 1, as: UInt8.self)
            #expect(last.load(as: UInt8.self) == 1)
        }
    }

    @Test func `memory behind the last matrix of a block is given back`() throws {
        let small = try {
            let packing = PackingMemory()
            return try #require(packing.allocate(bytes: 100)).memory
        }()
        #expect(small.byteCount == Int(getpagesize()))
        small.base.storeBytes(of: 1, toByteOffset: 99, as: UInt8.self)
    }
}
