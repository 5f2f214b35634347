// Packed codes and scales of formats with grid indices or base-3 digits, for `PackedLayout`.

import KernelFormats

/// 32 codes of one byte each, eight per word.
typealias GridCodes = SIMD4<UInt64>

/// A 1 in each byte.
private let ones: UInt64 = 0x0101_0101_0101_0101

/// The codes of columns `32 * part ..< 32 * part + 32` of a block.
@inline(__always)
func gridCodes(_ type: TensorType, _ source: UnsafeRawPointer, _ part: Int) -> GridCodes {
    var codes = GridCodes()
    switch type {
    case .IQ1_S:
        let block = BlockIQ1_S(source)
        let qh = block.qh(part)
        for k in 0..<4 {
            let high = Int(qh &>> UInt16(truncatingIfNeeded: 3 * k)) & 7
            codes[k] = fromOne(IQGrid.iq1[Int(block.qs[4 * part + k]) | high << 8])
        }
    case .IQ1_M:
        let block = BlockIQ1_M(source)
        for k in 0..<4 {
            let nibble = block.qh[2 * part + (k >> 1)] &>> UInt8(truncatingIfNeeded: 4 * (k & 1))
            let point = IQGrid.iq1[Int(block.qs[4 * part + k]) | Int(nibble & 7) << 8]
            codes[k] = fromOne(point) | (nibble & 8 == 0 ? ones << 2 : 0)
        }
    case .IQ2_XXS:
        let block = BlockIQ2_XXS(source)
        let (indices, word) = (block.indices(part), block.signsAndScale(part))
        for k in 0..<4 {
            let signs = IQGrid.signs(word &>> UInt32(truncatingIfNeeded: 7 * k))
            codes[k] = threeLevels(IQGrid.iq2_xxs[Int(indices[k])], signs)
        }
    case .IQ2_XS:
        let block = BlockIQ2_XS(source)
        for k in 0..<4 {
            let q = block.qs(4 * part + k)
            codes[k] = threeLevels(IQGrid.iq2_xs[Int(q & 511)], IQGrid.signs(UInt32(q >> 9)))
        }
    case .IQ2_S:
        let block = BlockIQ2_S(source)
        for k in 0..<4 {
            let high = (block.qh[part] &>> UInt8(truncatingIfNeeded: 2 * k)) & 3
            let point = IQGrid.iq2_s[Int(block.qs[4 * part + k]) | Int(high) << 8]
            codes[k] = threeLevels(point, block.signs[4 * part + k])
        }
    case .IQ3_XXS:
        let block = BlockIQ3_XXS(source)
        let word = block.signsAndScale(part)
        for k in 0..<4 {
            let q = block.qs + (8 * part + 2 * k)
            let point = UInt64(IQGrid.iq3_xxs[Int(q[0])]) | UInt64(IQGrid.iq3_xxs[Int(q[1])]) << 32
            // The levels 4, 12, …, 52, 62 are 8 apart, except the last.
            let signs = IQGrid.signs(word &>> UInt32(truncatingIfNeeded: 7 * k))
            codes[k] = (point >> 3) & (7 * ones) | spread(signs) << 3
        }
    case .IQ3_S:
        let block = BlockIQ3_S(source)
        for k in 0..<4 {
            let q = block.qs + (8 * part + 2 * k)
            let high = Int(block.qh[part] &>> UInt8(truncatingIfNeeded: 2 * k))
            let low = UInt64(IQGrid.iq3_s[Int(q[0]) | (high & 1) << 8])
            let point = low | UInt64(IQGrid.iq3_s[Int(q[1]) | (high & 2) << 7]) << 32
            // The levels are 2i + 1: (15 + (2i + 1)) / 2 = 8 + i, and (15 - (2i + 1)) / 2 = 7 - i = 15 - (8 + i).
            codes[k] = (point >> 1) & (7 * ones) ^ (8 * ones) ^ (15 * spread(block.signs[4 * part + k]))
        }
    case .TQ1_0:
        for k in 0..<4 { codes[k] = digits(BlockTQ1_0(source), 32 * part + 8 * k) }
    default: break  // Other formats have neither grids nor digits.
    }
    return codes
}

/// The scales of segments or parts `2 * register` and `2 * register + 1`, four bits each, lowest first. In IQ1_S the
/// fourth bit makes the shift negative.
@inline(__always)
func gridScales(_ type: TensorType, _ source: UnsafeRawPointer, _ register: Int) -> UInt8 {
    switch type {
    case .IQ1_S:
        let block = BlockIQ1_S(source)
        let (first, second) = (block.qh(2 * register) >> 12, block.qh(2 * register + 1) >> 12)
        return UInt8(truncatingIfNeeded: first | second << 4)
    case .IQ1_M:
        let block = BlockIQ1_M(source)
        return UInt8(truncatingIfNeeded: block.scale(2 * register) | block.scale(2 * register + 1) << 4)
    // 32 columns share a scale; both segments get it.
    case .IQ2_XXS: return UInt8(truncatingIfNeeded: (BlockIQ2_XXS(source).signsAndScale(register) >> 28) * 0x11)
    case .IQ2_XS: return BlockIQ2_XS(source).scales[register]
    case .IQ2_S: return BlockIQ2_S(source).scales[register]
    case .IQ3_XXS:
        let block = BlockIQ3_XXS(source)
        let (first, second) = (block.signsAndScale(2 * register) >> 28, block.signsAndScale(2 * register + 1) >> 28)
        return UInt8(truncatingIfNeeded: first | second << 4)
    case .IQ3_S: return BlockIQ3_S(source).scales[register]
    default: return 0  // Other formats do not have such scales.
    }
}

/// Eight signed bytes -1, 0 or 1, plus 1.
@inline(__always)
private func fromOne(_ point: UInt64) -> UInt64 { ((point & (3 * ones)) &+ ones) & (3 * ones) }

/// Maps eight magnitudes 8, 25 or 43 to 0, 1 and 2, with their signs in bit 2.
@inline(__always)
private func threeLevels(_ point: UInt64, _ signs: UInt8) -> UInt64 {
    // Bit 4 is set only in 25, bit 5 only in 43.
    (point >> 4) & (3 * ones) | spread(signs) << 2
}

/// Spreads bit j to byte j, as 0 or 1.
@inline(__always)
private func spread(_ bits: UInt8) -> UInt64 {
    let single = (UInt64(bits) &* ones) & 0x8040_2010_0804_0201
    return ((single &+ 0x7f * ones) >> 7) & ones
}

/// Eight base-3 digits, from value `first` on, a multiple of eight.
@inline(__always)
private func digits(_ block: BlockTQ1_0, _ first: Int) -> UInt64 {
    var codes: UInt64 = 0
    for j in 0..<8 {
        let value = first + j
        let (byte, n) =
            switch value {
            case ..<160: (block.qs[value % 32], value / 32)
            case ..<240: (block.qs[32 + (value - 160) % 16], (value - 160) / 16)
            default: (block.qh[(value - 240) % 4], (value - 240) / 4)
            }
        var fraction = byte
        for _ in 0..<n { fraction &*= 3 }
        codes |= UInt64((UInt16(fraction) * 3) >> 8) << UInt64(8 * j)
    }
    return codes
}
