import KernelFormats
import KernelsPortable

/// Kernels of recurrent layers, which the types of their arguments define, and elementwise functions.
struct RecurrentKernels: Sendable {
    typealias Elementwise = @Sendable (UnsafePointer<Float>, UnsafeMutablePointer<Float>, Int) -> Void

    let sigmoid: Elementwise
    let softplus: Elementwise
    let exponential: Elementwise
    let smallProduct: @Sendable (SmallProduct) -> Void
    let decayRows: @Sendable (RowDecay) -> Void
    let convolve: @Sendable (Convolution) -> Void
    let selectiveScan: @Sendable (SelectiveScan) -> Void

    static let portable = RecurrentKernels(
        sigmoid: KernelsPortable.sigmoid, softplus: KernelsPortable.softplus, exponential: KernelsPortable.exponential,
        smallProduct: KernelsPortable.smallProduct, decayRows: KernelsPortable.decayRows,
        convolve: KernelsPortable.convolve, selectiveScan: KernelsPortable.selectiveScan)
}
