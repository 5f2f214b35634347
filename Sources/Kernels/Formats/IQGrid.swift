/// The grids of the IQ formats, unpacked to one byte per value.
///
/// Each is built on first use and stays for the life of the process. Get the pointer once per row, not once per block,
/// since each access checks for initialization.
public enum IQGrid {
    // `nonisolated(unsafe)`: written only by its initializer, which runs once before the pointer is available.

    /// IQ1_S and IQ1_M: 2048 points, eight signed bytes each, the first value lowest.
    nonisolated(unsafe) public static let iq1 = unpackEights(packedIQ1, levels: (0xff, 0, 1))
    /// 256 points, eight bytes each.
    nonisolated(unsafe) public static let iq2_xxs = unpackEights(packedIQ2_XXS, levels: (8, 25, 43))
    /// 512 points, eight bytes each.
    nonisolated(unsafe) public static let iq2_xs = unpackEights(packedIQ2_XS, levels: (8, 25, 43))
    /// 1024 points, eight bytes each.
    nonisolated(unsafe) public static let iq2_s = unpackEights(packedIQ2_S, levels: (8, 25, 43))
    /// 256 points, four bytes each.
    nonisolated(unsafe) public static let iq3_xxs = unpackFours(packedIQ3_XXS) { $0 == 7 ? 62 : 8 * $0 + 4 }
    /// 512 points, four bytes each.
    nonisolated(unsafe) public static let iq3_s = unpackFours(packedIQ3_S) { 2 * $0 + 1 }

    /// Completes a 7-bit sign pattern: bit j of the result makes value j negative; the eighth bit makes the number of
    /// negative values even.
    @inlinable @inline(__always)
    public static func signs(_ pattern: UInt32) -> UInt8 {
        let seven = UInt8(truncatingIfNeeded: pattern & 127)
        var parity = seven ^ (seven >> 4)
        parity ^= parity >> 2
        parity ^= parity >> 1
        return seven | (parity << 7)
    }

    private static func unpackEights(_ packed: [UInt16], levels: (UInt64, UInt64, UInt64)) -> UnsafePointer<UInt64> {
        let points = UnsafeMutablePointer<UInt64>.allocate(capacity: packed.count)
        for (i, point) in packed.enumerated() {
            points[i] = 0
            for j in 0..<8 {
                let code = (point >> UInt16(2 * j)) & 3
                points[i] |= (code == 0 ? levels.0 : code == 1 ? levels.1 : levels.2) << UInt64(8 * j)
            }
        }
        return UnsafePointer(points)
    }

    private static func unpackFours(_ packed: [UInt16], level: (UInt32) -> UInt32) -> UnsafePointer<UInt32> {
        let points = UnsafeMutablePointer<UInt32>.allocate(capacity: packed.count)
        for (i, point) in packed.enumerated() {
            points[i] = 0
            for j in 0..<4 { points[i] |= level(UInt32(point >> UInt16(3 * j)) & 7) << UInt32(8 * j) }
        }
        return UnsafePointer(points)
    }
}
