import KernelFormats
import KernelsPortable

/// Sums, rotations and conversions of single rows. Arguments are in the order of the functions of `KernelsPortable`, which
/// document them.
struct RowKernels: Sendable {
    typealias Row = UnsafePointer<Float>
    typealias Output = UnsafeMutablePointer<Float>

    let dot: @Sendable (Row, Row, _ count: Int) -> Float
    let add: @Sendable (Output, Row, _ count: Int) -> Void
    let addMultiple: @Sendable (Output, Row, _ factor: Float, _ count: Int) -> Void
    var addLowRank: @Sendable (LowRankProduct) -> Void
    let softcap: @Sendable (Row, _ limit: Float, Output, _ count: Int) -> Void
    let rotateAdjacent: @Sendable (Output, _ cosines: Row, _ sines: Row, _ pairs: Int) -> Void
    let rotateHalves: @Sendable (Output, _ cosines: Row, _ sines: Row, _ pairs: Int) -> Void
    let transpose: @Sendable (Row, _ stride: Int, _ rows: Int, _ columns: Int, Output, _ targetStride: Int) -> Void
    let storeHalf: @Sendable (Row, UnsafeMutablePointer<UInt16>, _ stride: Int, _ count: Int) -> Void
    let hadamard: @Sendable (Output, _ count: Int) -> Void
    let storeQuantized:
        @Sendable (_ key: Row, _ value: Row, UnsafeMutableRawPointer, QuantizedPage, _ token: Int) -> Void

    static let portable = RowKernels(
        dot: { KernelsPortable.dot($0, $1, count: $2) },
        add: { KernelsPortable.add($0, $1, count: $2) },
        addMultiple: { KernelsPortable.add($0, $1, times: $2, count: $3) },
        addLowRank: { KernelsPortable.addLowRank($0) },
        softcap: { KernelsPortable.softcap($0, limit: $1, into: $2, count: $3) },
        rotateAdjacent: { KernelsPortable.rotateAdjacent($0, cos: $1, sin: $2, pairs: $3) },
        rotateHalves: { KernelsPortable.rotateHalves($0, cos: $1, sin: $2, pairs: $3) },
        transpose: { KernelsPortable.transpose($0, stride: $1, rows: $2, columns: $3, into: $4, targetStride: $5) },
        storeHalf: { KernelsPortable.storeHalf($0, into: $1, stride: $2, count: $3) },
        hadamard: { KernelsPortable.hadamard($0, count: $1) },
        storeQuantized: { KernelsPortable.storeQuantized(key: $0, value: $1, in: $2, $3, token: $4) })
}
