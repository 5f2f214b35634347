// How kernels read packed weights; see `PackedLayout`. All tiers compile this folder: what their registers hold, and how bits are
// moved in them, is in each tier's Codes.swift.

import KernelFormats

/// A packed format. Its members are inlined into a kernel that is compiled for it.
protocol PackedFormat {
    static var format: PackedLayout.Format { get }
    /// Bytes of the planes of 32 columns.
    static var planeBytes: Int { get }
    /// Scales per 32 columns: 1 or 2.
    static var segments: Int { get }
    /// The code of weight 0 in this tier; 0 in formats with offsets of segments or parts.
    static var center: Int32 { get }
    static var offsets: Offsets { get }

    /// The codes of steps `step` (in 0..<4) and `step + 4`, of as many rows as `Codes` holds, from the planes of 32 columns.
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes)
    /// Whether the lowest bits of the codes are elsewhere, in `trailing`, and the codes with them.
    static var isSplit: Bool { get }
    static func codes(_ planes: UnsafeRawPointer, _ trailing: UnsafeRawPointer, _ step: Int) -> (Codes, Codes)

    /// Scales shared by all parts of a block.
    associatedtype Shared
    static func shared(_ block: UnsafeRawPointer) -> Shared
    /// The scales of a segment, and what is subtracted from `scale · code`.
    static func scales(
        _ shared: Shared, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: RowFloats, offset: RowFloats)
    /// With `.ofParts`: the minimums of a part, and their scale.
    static func minimums(_ block: UnsafeRawPointer, _ part: Int) -> Bytes
    static func minimumScale(_ shared: Shared) -> RowFloats
}

/// What a weight has besides `scale · (code - center)`; it is subtracted.
enum Offsets {
    case none
    /// A float per segment.
    case ofSegments
    /// An integer per 32 columns, `minimums`, with a scale per block of 256.
    case ofParts
    /// The scale, times what the product has as its `bounds`, instead of the sum of the activations.
    case ofBounds
}

extension PackedFormat {
    @inline(__always) static var planeBytes: Int { format.planeBytes }
    @inline(__always) static var segments: Int { format.segments }
    @inline(__always) static var center: Int32 { format.center }
    @inline(__always) static var offsets: Offsets { .none }
    @inline(__always) static var isSplit: Bool { false }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ trailing: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        codes(planes, step)
    }
    @inline(__always) static func minimums(_ block: UnsafeRawPointer, _ part: Int) -> Bytes { Bytes() }
    @inline(__always) static func minimumScale(_ shared: Shared) -> RowFloats { rows(0) }

    /// A scale whose offset is that of the center.
    @inline(__always)
    static func centered(_ scale: RowFloats) -> (scale: RowFloats, offset: RowFloats) {
        (scale, center == 0 ? rows(0) : times(scale, Float(center)))
    }
}

extension PackedFormat where Shared == RowFloats {
    /// The block's scales.
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> RowFloats { halves(block, 0) }
}

extension PackedFormat where Shared == (RowFloats, RowFloats) {
    /// The block's scales, and those of its offsets.
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> (RowFloats, RowFloats) { (halves(block, 0), halves(block, 1)) }
}

/// A kernel for weights in any packed format.
protocol PackedKernel {
    func run<Format: PackedFormat>(_: Format.Type)
}

extension PackedLayout.Format {
    /// Runs the kernel that was compiled for this format.
    @inline(__always)
    func run(_ kernel: some PackedKernel) {
        switch self {
        case .Q4_0: kernel.run(PackedQ4_0.self)
        case .Q4_1: kernel.run(PackedQ4_1.self)
        case .Q5_0: kernel.run(PackedQ5_0.self)
        case .Q5_1: kernel.run(PackedQ5_1.self)
        case .Q8_0: kernel.run(PackedQ8_0.self)
        case .Q2_K: kernel.run(PackedQ2_K.self)
        case .Q3_K: kernel.run(PackedQ3_K.self)
        case .Q4_K: kernel.run(PackedQ4_K.self)
        case .Q5_K: kernel.run(PackedQ5_K.self)
        case .Q6_K: kernel.run(PackedQ6_K.self)
        case .IQ4_NL: kernel.run(PackedIQ4_NL.self)
        case .IQ4_XS: kernel.run(PackedIQ4_XS.self)
        case .MXFP4: kernel.run(PackedMXFP4.self)
        case .NVFP4: kernel.run(PackedNVFP4.self)
        case .ternary: kernel.run(PackedTernary.self)
        case .IQ1_S: kernel.run(PackedIQ1_S.self)
        case .IQ1_M: kernel.run(PackedIQ1_M.self)
        case .IQ2: kernel.run(PackedIQ2.self)
        case .IQ3_XXS: kernel.run(PackedIQ3_XXS.self)
        case .IQ3_S: kernel.run(PackedIQ3_S.self)
        }
    }
}

// MARK: Planes

@inline(__always) func loadCodes(_ p: UnsafeRawPointer) -> Codes { p.loadUnaligned(as: Codes.self) }

@inline(__always)
func nibbles(_ plane: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
    let v = loadCodes(plane + 64 &* step)
    return (mask(v, 15), mask(shift(v, -4), 15))
}

/// One bit of each code, shifted to bit `place`.
@inline(__always)
func bits(_ plane: UnsafeRawPointer, _ step: Int, at place: Int) -> (Codes, Codes) {
    let v = loadCodes(plane), bit = UInt8(truncatingIfNeeded: 1 << place)
    return (mask(shift(v, place &- step), bit), mask(shift(v, place &- step &- 4), bit))
}

/// Two bits of each code, shifted to bits `place` and up.
@inline(__always)
func twoBits(_ plane: UnsafeRawPointer, _ step: Int, at place: Int) -> (Codes, Codes) {
    let both = UInt8(truncatingIfNeeded: 3 << place)
    return (
        mask(shift(loadCodes(plane), place &- 2 &* step), both),
        mask(shift(loadCodes(plane + 64), place &- 2 &* step), both)
    )
}

@inline(__always)
func or(_ a: (Codes, Codes), _ b: (Codes, Codes)) -> (Codes, Codes) { (or(a.0, b.0), or(a.1, b.1)) }

// MARK: Scales

/// One byte for each of 16 rows.
@inline(__always)
func bytes(_ registers: UnsafeRawPointer, _ index: Int) -> Bytes {
    (registers + 16 &* index).loadUnaligned(as: Bytes.self)
}

/// Combines four low bits from one register with two high ones from another.
@inline(__always)
func sixBits(_ low: Bytes, _ lowPlace: Int, _ high: Bytes, _ highPlace: Int) -> Bytes {
    or(field(low, lowPlace, 4), timesSixteen(field(high, highPlace, 2)))
}

@inline(__always)
func times(_ a: RowFloats, _ factor: Float) -> RowFloats { times(a, rows(factor)) }
