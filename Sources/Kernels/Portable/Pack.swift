// Converts the file's layout to `PackedLayout`, 16 rows at a time, when a model is loaded. The same on every tier.

public import KernelFormats

/// Packs 16 rows of `columns` weights, `rowBytes` apart.
@inline(never)
public func pack(
    _ layout: PackedLayout, _ rows: UnsafeRawPointer, rowBytes: Int, columns: Int,
    into destination: UnsafeMutableRawPointer
) {
    layout.type.run(
        Packing(layout: layout, rows: rows, rowBytes: rowBytes, columns: columns, destination: destination))
}

private struct Packing: PortableKernel {
    let layout: PackedLayout
    let rows: UnsafeRawPointer
    let rowBytes: Int
    let columns: Int
    let destination: UnsafeMutableRawPointer

    func run<B: PortableBlock>(_: B.Type) {
        for block in 0..<(columns / B.values) {
            let target = destination + (block &* layout.blockBytes)
            for row in 0..<PackedLayout.rows {
                B(rows + (row &* rowBytes &+ block &* B.bytes)).pack(PackedRow(layout, target, row))
            }
        }
    }
}

/// Packs 16 rows of Q8_0 as a leading and a trailing part; see `PackedLayout.leadingQ8_0`.
@inline(never)
public func packSplit(
    _ rows: UnsafeRawPointer, rowBytes: Int, columns: Int, into leading: UnsafeMutableRawPointer,
    trailing: UnsafeMutableRawPointer
) {
    let layout = PackedLayout.leadingQ8_0
    for block in 0..<(columns / BlockQ8_0.values) {
        let target = leading + block &* layout.blockBytes
        let rest = trailing + block &* PackedLayout.trailingBytes
        for row in 0..<PackedLayout.rows {
            BlockQ8_0(rows + (row &* rowBytes &+ block &* BlockQ8_0.bytes))
                .packSplit(PackedRow(layout, target, row), trailing: rest + 4 &* row)
        }
    }
}

/// The place of a row in a packed block.
struct PackedRow {
    private let block: UnsafeMutableRawPointer
    private let row: Int
    private let codes: UnsafeMutableRawPointer
    private let planeBytes: Int

    @inline(__always)
    init(_ layout: PackedLayout, _ block: UnsafeMutableRawPointer, _ row: Int) {
        (self.block, self.row, planeBytes) = (block, row, layout.planeBytes)
        codes = block + (layout.scaleBytes &+ 4 &* row)
    }

    /// Where step 0 of a part of 32 columns goes; registers are 64 bytes apart.
    @inline(__always)
    func part(_ index: Int) -> UnsafeMutableRawPointer { codes + index &* planeBytes }

    /// Stores a half-precision scale as field `index`.
    @inline(__always)
    func storeHalf(_ bits: UInt16, _ index: Int) {
        block.storeBytes(of: bits, toByteOffset: 32 &* index &+ 2 &* row, as: UInt16.self)
    }

    @inline(__always)
    func storeHalf(at source: UnsafeRawPointer, _ index: Int) {
        storeHalf(source.loadUnaligned(as: UInt16.self), index)
    }

    /// Stores the row's byte in a register of scales, which come after `halves` half-precision ones.
    @inline(__always)
    func storeScale(_ byte: UInt8, _ register: Int, after halves: Int) {
        block.storeBytes(of: byte, toByteOffset: 32 &* halves &+ 16 &* register &+ row, as: UInt8.self)
    }
}

/// Stores, after a half-precision scale, the low nibbles of six-bit scales 2i and 2i + 1 in register i, and the two high bits
/// of scales 4i … 4i + 3 in register count / 2 + i.
@inline(__always)
func packSixBits(_ count: Int, _ row: PackedRow, _ scale: (Int) -> UInt8) {
    for index in 0..<(count / 2) {
        row.storeScale((scale(2 &* index) & 15) | (scale(2 &* index &+ 1) << 4), index, after: 1)
    }
    for index in 0..<(count / 4) {
        var high: UInt8 = 0
        for field in 0..<4 { high |= (scale(4 &* index &+ field) >> 4) << UInt8(truncatingIfNeeded: 2 &* field) }
        row.storeScale(high, count / 2 &+ index, after: 1)
    }
}

// MARK: Codes of 32 columns

/// 32 codes of one byte each, eight per word.
typealias PartCodes = SIMD4<UInt64>

/// - Parameter eight: The codes of the eight columns from `8 * index` of the block on.
@inline(__always)
func partCodes(_ part: Int, _ eight: (_ index: Int) -> UInt64) -> PartCodes {
    PartCodes(eight(4 * part), eight(4 * part + 1), eight(4 * part + 2), eight(4 * part + 3))
}

@inline(__always)
func packNibbles(_ codes: PartCodes, _ target: UnsafeMutableRawPointer) {
    withUnsafeBytes(of: codes) {
        packNibbles(join(load16($0.baseAddress!), load16($0.baseAddress! + 16), high: false), target)
    }
}

@inline(__always)
func packTwoBits(_ codes: PartCodes, _ target: UnsafeMutableRawPointer) {
    withUnsafeBytes(of: codes) { packTwoBits($0.baseAddress!, 0, target) }
}

/// Two bits of each code, and then the third.
@inline(__always)
func packThreeBits(_ codes: PartCodes, _ target: UnsafeMutableRawPointer) {
    withUnsafeBytes(of: codes) {
        packTwoBits($0.baseAddress!, 0, target)
        packBits($0.baseAddress!, bit: 2, target + 128)
    }
}

@inline(__always)
func load16(_ p: UnsafeRawPointer) -> SIMD16<UInt8> { p.loadUnaligned(as: SIMD16<UInt8>.self) }

@inline(__always)
func copyWord(_ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer) {
    target.storeBytes(of: source.loadUnaligned(as: UInt32.self), as: UInt32.self)
}

/// Packs 32 4-bit codes: byte i has code i in its low nibble and code 16 + i in its high one.
@inline(__always)
func packNibbles(_ nibbles: SIMD16<UInt8>, _ target: UnsafeMutableRawPointer) {
    let words = unsafeBitCast(nibbles, to: SIMD4<UInt32>.self)
    for step in 0..<4 { target.storeBytes(of: words[step], toByteOffset: 64 &* step, as: UInt32.self) }
}

/// The low (or high) nibbles of 32 bytes, in the form of `packNibbles`.
@inline(__always)
func join(_ a: SIMD16<UInt8>, _ b: SIMD16<UInt8>, high: Bool) -> SIMD16<UInt8> {
    high ? (a &>> 4) | (b & 0xf0) : (a & 15) | (b &<< 4)
}

/// Packs two bits of 32 codes: bits `2 · field` and `2 · field + 1` of 32 bytes.
@inline(__always)
func packTwoBits(_ bytes: UnsafeRawPointer, _ field: Int, _ target: UnsafeMutableRawPointer) {
    for register in 0..<2 {
        var word: UInt32 = 0
        for step in 0..<4 {
            let codes = (bytes + (16 &* register &+ 4 &* step)).loadUnaligned(as: UInt32.self)
            let fields = (codes >> UInt32(truncatingIfNeeded: 2 &* field)) & 0x0303_0303
            word |= fields << UInt32(truncatingIfNeeded: 2 &* step)
        }
        target.storeBytes(of: word, toByteOffset: 64 &* register, as: UInt32.self)
    }
}

/// Packs one bit of 32 codes: bit `bit` of 32 bytes.
@inline(__always)
func packBits(_ bytes: UnsafeRawPointer, bit: Int, _ target: UnsafeMutableRawPointer) {
    var word: UInt32 = 0
    for step in 0..<8 {
        let codes = (bytes + 4 &* step).loadUnaligned(as: UInt32.self)
        word |= ((codes >> UInt32(truncatingIfNeeded: bit)) & 0x0101_0101) << UInt32(truncatingIfNeeded: step)
    }
    target.storeBytes(of: word, as: UInt32.self)
}

/// Packs one bit of 32 codes: bit k of a word belongs to code k.
@inline(__always)
func packBits(ofWord bits: UInt32, _ target: UnsafeMutableRawPointer) {
    var word: UInt32 = 0
    for step in 0..<8 {
        // Spread four bits to four bytes by adding shifted copies of the nibble, by 0, 7, 14 and 21 bits.
        let nibble = (bits >> UInt32(truncatingIfNeeded: 4 &* step)) & 15
        word |= ((nibble &* 0x0020_4081) & 0x0101_0101) << UInt32(truncatingIfNeeded: step)
    }
    target.storeBytes(of: word, as: UInt32.self)
}
