import KernelFormats
import KernelsPortable
import TestSupport
import Testing

@Suite struct DequantizeTests {
    @Test(arguments: DequantizeGolden.all)
    func `gives the values of the gguf package bit for bit`(golden: DequantizeGolden) {
        let type = golden.type
        let bytes = SeededGenerator.bytes(
            DequantizeGolden.blockCount * type.blockBytes, seed: UInt64(type.rawValue))
        let values = dequantized(type, bytes, count: DequantizeGolden.blockCount * type.blockValues)

        let first = golden.block * type.blockValues
        let samples = golden.samples.indices.map { values[first + $0 * golden.stride].bitPattern }
        #expect(samples == golden.samples)
        #expect(checksum(values) == golden.checksum)
    }

    @Test(arguments: TensorType.allCases)
    func `a range of blocks, unaligned, gives the same values as the whole`(type: TensorType) {
        let blocks = 7
        let bytes = SeededGenerator.bytes(blocks * type.blockBytes, seed: 0x5eed)
        let whole = dequantized(type, bytes, count: blocks * type.blockValues)
        let tail = dequantized(
            type, Array(bytes[(3 * type.blockBytes)...]), count: 4 * type.blockValues, misalignment: 1)
        #expect(canonicalBits(tail) == canonicalBits(Array(whole[(3 * type.blockValues)...])))
    }

    @Test func `formats that the gguf package cannot read follow their definition`() {
        let two = littleEndian(UInt16(0x4000))
        let codes = (0..<32).map { Int8($0 * 8 - 128) }
        let scaled = codes.map { 2 * Float($0) }
        let codeBytes = codes.map { UInt8(bitPattern: $0) }
        #expect(dequantized(.Q8_1, two + [9, 9] + codeBytes, count: 32) == scaled)

        let q8_K =
            littleEndian(Float(2).bitPattern) + (0..<8).flatMap { _ in codeBytes } + Array(repeating: 9, count: 32)
        #expect(dequantized(.Q8_K, q8_K, count: 256) == (0..<8).flatMap { _ in scaled })

        let q2_0 = two + [0b1110_0100] + Array(repeating: 0b0101_0101, count: 15)
        #expect(dequantized(.Q2_0, q2_0, count: 64) == [-2, 0, 2, 4] + Array(repeating: 0, count: 60))

        let bits: [UInt8] = [0b0000_0101, 0x80] + Array(repeating: 0, count: 14)
        let ones = [0, 2, 15]
        #expect(dequantized(.Q1_0, two + bits, count: 128) == (0..<128).map { ones.contains($0) ? 2 : -2 })
    }

    @Test func `plain numbers become the nearest floats`() {
        let odd: Int64 = (1 << 24) + 1
        #expect(dequantized(.I8, [0x80, 0x7f], count: 2) == [-128, 127])
        #expect(dequantized(.I16, littleEndian(Int16.min) + littleEndian(Int16(300)), count: 2) == [-32768, 300])
        #expect(dequantized(.I32, littleEndian(Int32(odd)) + littleEndian(Int32(-7)), count: 2) == [0x1p24, -7])
        #expect(dequantized(.I64, littleEndian(Int64.min) + littleEndian(odd), count: 2) == [-0x1p63, 0x1p24])
        let doubles = [0.1, -1e300].flatMap { littleEndian($0.bitPattern) }
        #expect(dequantized(.F64, doubles, count: 2) == [0.1, -.infinity])
    }

    @Test func `every half-precision pattern converts as Float16 does`() {
        for bits in UInt16.min...UInt16.max {
            let (found, expected) = (floatFromHalf(bits), Float(Float16(bitPattern: bits)))
            guard expected.isNaN ? found.isNaN : found.bitPattern == expected.bitPattern else {
                Issue.record("\(String(bits, radix: 16)): \(found) instead of \(expected)")
                return
            }
        }
    }

    @Test func `every sign pattern has an even number of negative values`() {
        for pattern in UInt32(0)..<128 {
            let signs = IQGrid.signs(pattern)
            #expect(UInt32(signs & 127) == pattern && signs.nonzeroBitCount % 2 == 0)
        }
    }
}

@Suite struct TensorTypeTests {
    // `GGML_QUANT_SIZES` of the gguf package 0.19.0, but for Q2_0, which it does not know, and Q8_1: it says 40, from
    // before ggml made its two scales f16.
    @Test func `block sizes are those of ggml`() {
        let sizes: [TensorType: (values: Int, bytes: Int)] = [
            .F32: (1, 4), .F16: (1, 2), .Q4_0: (32, 18), .Q4_1: (32, 20), .Q5_0: (32, 22), .Q5_1: (32, 24),
            .Q8_0: (32, 34), .Q8_1: (32, 36), .Q2_K: (256, 84), .Q3_K: (256, 110), .Q4_K: (256, 144),
            .Q5_K: (256, 176), .Q6_K: (256, 210), .Q8_K: (256, 292), .IQ2_XXS: (256, 66), .IQ2_XS: (256, 74),
            .IQ3_XXS: (256, 98), .IQ1_S: (256, 50), .IQ4_NL: (32, 18), .IQ3_S: (256, 110), .IQ2_S: (256, 82),
            .IQ4_XS: (256, 136), .I8: (1, 1), .I16: (1, 2), .I32: (1, 4), .I64: (1, 8), .F64: (1, 8),
            .IQ1_M: (256, 56), .BF16: (1, 2), .TQ1_0: (256, 54), .TQ2_0: (256, 66), .MXFP4: (32, 17),
            .NVFP4: (64, 36), .Q1_0: (128, 18), .Q2_0: (64, 18),
        ]
        for type in TensorType.allCases {
            #expect(sizes[type]?.values == type.blockValues && sizes[type]?.bytes == type.blockBytes, "\(type)")
        }
    }

    @Test func `only whole blocks have a size, and only one that fits`() {
        #expect(TensorType.Q4_K.bytes(forValues: 512) == 288)
        #expect(TensorType.Q4_K.bytes(forValues: 511) == nil)
        #expect(TensorType.F32.bytes(forValues: -1) == nil)
        #expect(TensorType.F32.bytes(forValues: .max) == nil)
        #expect(TensorType.IQ2_XXS.name == "IQ2_XXS")
    }
}

private func dequantized(_ type: TensorType, _ bytes: [UInt8], count: Int, misalignment: Int = 0) -> [Float] {
    let shifted = Array(repeating: 0, count: misalignment) + bytes
    return shifted.withUnsafeBytes { source in
        [Float](unsafeUninitializedCapacity: count) { destination, initialized in
            dequantize(type, source.baseAddress! + misalignment, into: destination.baseAddress!, count: count)
            initialized = count
        }
    }
}

private func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
}

private func canonicalBits(_ values: [Float]) -> [UInt32] { values.map { $0.isNaN ? 0x7fc0_0000 : $0.bitPattern } }

/// FNV-1a, 64 bits.
private func checksum(_ values: [Float]) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in canonicalBits(values).flatMap(littleEndian) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return hash
}
