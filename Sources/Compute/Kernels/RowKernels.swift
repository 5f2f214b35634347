package import KernelFormats
import KernelsPortable

/// Sums, rotations and conversions of single rows. Arguments are in the order of the functions of `KernelsPortable`, which
/// document them.
package struct RowKernels: Sendable {
    package typealias Row = UnsafePointer<Float>
    package typealias Output = UnsafeMutablePointer<Float>

    package let dot: @Sendable (Row, Row, _ count: Int) -> Float
    package let add: @Sendable (Output, Row, _ count: Int) -> Void
    package let addMultiple: @Sendable (Output, Row, _ factor: Float, _ count: Int) -> Void
    package var addLowRank: @Sendable (LowRankProduct) -> Void
    package let softcap: @Sendable (Row, _ limit: Float, Output, _ count: Int) -> Void
    package let rotateAdjacent: @Sendable (Output, _ cosines: Row, _ sines: Row, _ pairs: Int) -> Void
    package let rotateHalves: @Sendable (Output, _ cosines: Row, _ sines: Row, _ pairs: Int) -> Void
    package let transpose:
        @Sendable (Row, _ stride: Int, _ rows: Int, _ columns: Int, Output, _ targetStride: Int) -> Void
    package var storeHalf: @Sendable (Row, UnsafeMutablePointer<UInt16>, _ stride: Int, _ count: Int) -> Void
    package let hadamard: @Sendable (Output, _ count: Int) -> Void
    package let storeQuantized:
        @Sendable (_ key: Row, _ value: Row, UnsafeMutableRawPointer, QuantizedPage, _ token: Int) -> Void

    static let portable = RowKernels(
        dot: KernelsPortable.dot, add: KernelsPortable.add(_:_:count:),
        addMultiple: KernelsPortable.add(_:_:times:count:),
        addLowRank: KernelsPortable.addLowRank, softcap: KernelsPortable.softcap,
        rotateAdjacent: KernelsPortable.rotateAdjacent, rotateHalves: KernelsPortable.rotateHalves,
        transpose: KernelsPortable.transpose, storeHalf: KernelsPortable.storeHalf, hadamard: KernelsPortable.hadamard,
        storeQuantized: KernelsPortable.storeQuantized)
}
