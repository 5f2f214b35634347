// Formats with blocks of 32 values: eight blocks at a time.

public import KernelFormats

/// Room for eight groups. It is generic so that no closure is without `V`: a tier's copy of it would be any tier's.
@usableFromInline
struct Panel<V: Lanes> {
    /// 256 values, transposed, and their weights.
    @usableFromInline let x: UnsafeMutablePointer<Float>
    @usableFromInline let w: UnsafeMutablePointer<Float>
    /// Per group, two halves as they are stored.
    @usableFromInline let scales: UnsafeMutablePointer<UInt16>
    @usableFromInline let offsets: UnsafeMutablePointer<UInt16>
    /// 256 codes.
    @usableFromInline let codes: UnsafeMutablePointer<UInt8>

    @inlinable @inline(__always)
    init(_ floats: UnsafeMutablePointer<Float>, _ codes: UnsafeMutablePointer<UInt8>) {
        (x, w) = (floats, floats + 256)
        scales = UnsafeMutableRawPointer(floats + 512).assumingMemoryBound(to: UInt16.self)
        offsets = scales + 8
        self.codes = codes
    }

    @inlinable @inline(__always)
    static func with(_ body: (Panel<V>) -> Void) {
        withUnsafeTemporaryAllocation(of: Float.self, capacity: 512 + 8) { floats in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { codes in
                body(Panel<V>(floats.baseAddress!, codes.baseAddress!))
            }
        }
    }
}

/// Quantizes blocks of 32 values.
///
/// - Parameters:
///   - search: Finds the scales of eight blocks, and stores them and the codes in the panel.
///   - pack: Stores a block, given its number in the panel.
@inlinable @inline(__always)
func quantizeBlocks<V: Lanes, W: Weights>(
    _ source: QuantizedRow<V, W>, blockBytes: Int, search: (Groups<V, W>, Panel<V>) -> Void,
    pack: (Panel<V>, Int, UnsafeMutableRawPointer) -> Void
) {
    Panel<V>.with { panel in
        let blocks = source.count / 32
        var first = 0
        while first < blocks {
            let count = min(8, blocks &- first)
            search(source.panel(first &* 32, groups: count, panel), panel)
            for block in 0..<count { pack(panel, block, source.destination + (first &+ block) &* blockBytes) }
            first &+= 8
        }
    }
}

@inlinable @inline(__always)
func store(_ bits: UInt16, _ bytes: UnsafeMutableRawPointer) {
    bytes.storeBytes(of: bits.littleEndian, as: UInt16.self)
}

/// Blocks with a scale: a half, the fifth bits if there are any, and the nibbles.
@inlinable @inline(__always)
func quantizeScaled<V: Lanes, W: Weights, R: Rounding>(
    _ source: QuantizedRow<V, W>, _ rounding: R, steps: Int, hasFifthBits: Bool = false
) where R.V == V {
    quantizeBlocks(source, blockBytes: hasFifthBits ? 22 : 18) { groups, panel in
        let fit = groups.fitScale(rounding, steps: steps, rounds: steps == 0 ? 0 : 2)
        groups.encode(rounding, scale: fit.scale.storeHalves(panel.scales), panel.codes)
    } pack: { panel, index, block in
        let codes = panel.codes + 32 &* index
        store(panel.scales[index], block)
        V.packNibbles(codes, into: block + (hasFifthBits ? 6 : 2))
        if hasFifthBits {
            block.storeBytes(of: V.fifthBits(codes).littleEndian, toByteOffset: 2, as: UInt32.self)
        }
    }
}

/// Blocks with a scale and a minimum: two halves, the fifth bits if there are any, and the nibbles.
@inlinable @inline(__always)
func quantizeLines<V: Lanes, W: Weights>(
    _ source: QuantizedRow<V, W>, top: Float, steps: Int
) {
    let rounding = UniformRounding<V>(0, top)
    quantizeBlocks(source, blockBytes: top > 15 ? 24 : 20) { groups, panel in
        let fit = groups.fitLine(rounding, highest: .infinity, steps: steps, rounds: steps == 0 ? 0 : 2)
        let scale = fit.scale.storeHalves(panel.scales)
        groups.encode(rounding, scale: scale, offset: fit.offset.storeHalves(panel.offsets), panel.codes)
    } pack: { panel, index, block in
        let codes = panel.codes + 32 &* index
        store(panel.scales[index], block)
        store(panel.offsets[index], block + 2)
        V.packNibbles(codes, into: block + (top > 15 ? 8 : 4))
        if top > 15 {
            block.storeBytes(of: V.fifthBits(codes).littleEndian, toByteOffset: 4, as: UInt32.self)
        }
    }
}

@inlinable @inline(never)
func quantizeQ8_0<V: Lanes, W: Weights>(_ source: QuantizedRow<V, W>) {
    quantizeBlocks(source, blockBytes: 34) { groups, panel in
        let (low, high) = groups.range()
        let scale = (V.max(high, V(0) - low) / V(127)).storeHalves(panel.scales)
        groups.encode(UniformRounding<V>(-128, 127), scale: scale, panel.codes)
    } pack: { panel, index, block in
        store(panel.scales[index], block)
        for part in stride(from: 0, to: 32, by: 8) {
            store(word(panel.codes + (32 &* index &+ part)) ^ (128 &* eachByte), block + (2 &+ part))
        }
    }
}

/// The scale is a power of two: of the smallest that reaches the largest value and its two neighbours, the one with the
/// least error is used.
@inlinable @inline(never)
func quantizeMXFP4<V: Lanes, W: Weights>(_ source: QuantizedRow<V, W>) {
    let rounding = E2M1Rounding<V>()
    quantizeBlocks(source, blockBytes: 17) { groups, panel in
        let (low, high) = groups.range()
        withUnsafeTemporaryAllocation(of: Float.self, capacity: 32) { floats in
            let largest = floats.baseAddress!
            V.max(high, V(0) - low).store(largest)
            for lane in 0..<8 {
                // 6 = 1.5 · 2² is the largest E2M1 value. Subnormals are treated like the smallest normal exponent.
                let exponent = Int((largest[lane].bitPattern >> 23) & 255) &- 2
                let first = Swift.min(Swift.max(exponent &- 1, 0), 252)
                // The exponent, in place of a half.
                panel.scales[lane] = UInt16(truncatingIfNeeded: first)
                for candidate in 0..<3 { largest[8 &+ 8 &* candidate &+ lane] = halfScale(first &+ candidate) }
            }
            // The first, even if its error overflows.
            var (error, scale) = (V(.infinity), V.load(largest + 8))
            for candidate in 0..<3 {
                let tried = V.load(largest + (8 &+ 8 &* candidate))
                let found = groups.scaleErrors(rounding, scale: tried).error
                scale = .choose(found, below: error, tried, else: scale)
                error = .min(found, error)
            }
            scale.store(largest)
            for lane in 0..<8 {
                for candidate in 1..<3 where largest[lane] == largest[8 &+ 8 &* candidate &+ lane] {
                    panel.scales[lane] &+= UInt16(truncatingIfNeeded: candidate)
                }
            }
            groups.encode(rounding, scale: scale, panel.codes)
        }
    } pack: { panel, index, block in
        block.storeBytes(of: UInt8(truncatingIfNeeded: panel.scales[index]), as: UInt8.self)
        V.packNibbles(panel.codes + 32 &* index, into: block + 1)
    }
}

/// Half of 2^(exponent − 127), the factor on doubled E2M1 values.
@inlinable @inline(__always)
func halfScale(_ exponent: Int) -> Float {
    var byte = UInt8(truncatingIfNeeded: exponent)
    return withUnsafePointer(to: &byte) { BlockMXFP4($0).halfScale }
}
