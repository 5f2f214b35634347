import KernelsPortable

/// Kernels of recurrent layers, and elementwise functions. Arguments are in the order of the functions of
/// `KernelsPortable`, which document them.
struct RecurrentKernels: Sendable {
    typealias Elementwise = @Sendable (UnsafePointer<Float>, UnsafeMutablePointer<Float>, Int) -> Void

    let sigmoid: Elementwise
    let softplus: Elementwise
    let exponential: Elementwise
    let smallProduct:
        @Sendable (
            UnsafePointer<Float>, _ aRow: Int, _ aColumn: Int, UnsafePointer<Float>, _ bStride: Int,
            _ decay: UnsafePointer<Float>?, _ decayStride: Int, UnsafeMutablePointer<Float>, _ cStride: Int,
            _ rows: Int, _ depth: Int, _ columns: Int
        ) -> Void
    let decayRows:
        @Sendable (
            UnsafeMutablePointer<Float>, _ count: Int, _ width: Int, _ decay: UnsafePointer<Float>,
            UnsafePointer<Float>, UnsafeMutablePointer<Float>, UnsafePointer<Float>, UnsafeMutablePointer<Float>
        ) -> Void
    let convolve:
        @Sendable (
            UnsafePointer<UnsafePointer<Float>>, UnsafePointer<Float>, UnsafePointer<Float>?, _ taps: Int,
            _ channels: Int, _ silu: Bool, UnsafeMutablePointer<Float>
        ) -> Void
    let selectiveScan:
        @Sendable (
            UnsafePointer<Float>, UnsafePointer<Float>, _ stride: Int, UnsafePointer<Float>, UnsafePointer<Float>,
            _ selectStride: Int, UnsafePointer<Float>, UnsafePointer<Float>, UnsafeMutablePointer<Float>,
            _ stateStride: Int, _ tokens: Int, _ channels: Int, _ states: Int, UnsafeMutablePointer<Float>
        ) -> Void

    static let portable = RecurrentKernels(
        sigmoid: { KernelsPortable.sigmoid($0, into: $1, count: $2) },
        softplus: { KernelsPortable.softplus($0, into: $1, count: $2) },
        exponential: { KernelsPortable.exponential($0, into: $1, count: $2) },
        smallProduct: {
            KernelsPortable.smallProduct(
                $0, aRow: $1, aColumn: $2, $3, bStride: $4, decay: $5, decayStride: $6, into: $7, cStride: $8,
                rows: $9, depth: $10, columns: $11)
        },
        decayRows: {
            KernelsPortable.decayRows($0, count: $1, width: $2, by: $3, before: $4, into: $5, after: $6, into: $7)
        },
        convolve: { KernelsPortable.convolve($0, $1, bias: $2, taps: $3, channels: $4, silu: $5, into: $6) },
        selectiveScan: {
            KernelsPortable.selectiveScan(
                $0, delta: $1, stride: $2, b: $3, c: $4, selectStride: $5, a: $6, d: $7, state: $8, stateStride: $9,
                tokens: $10, channels: $11, states: $12, into: $13)
        })
}
