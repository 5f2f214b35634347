package import KernelFormats
import KernelsPortable

/// Kernels of recurrent layers, which the types of their arguments define, and elementwise functions.
package struct RecurrentKernels: Sendable {
    package typealias Elementwise = @Sendable (UnsafePointer<Float>, UnsafeMutablePointer<Float>, Int) -> Void

    package var sigmoid: Elementwise
    package var softplus: Elementwise
    package var exponential: Elementwise
    package var smallProduct: @Sendable (SmallProduct) -> Void
    package var decayRows: @Sendable (RowDecay) -> Void
    package var convolve: @Sendable (Convolution) -> Void
    package var selectiveScan: @Sendable (SelectiveScan) -> Void

    static let portable = RecurrentKernels(
        sigmoid: KernelsPortable.sigmoid, softplus: KernelsPortable.softplus, exponential: KernelsPortable.exponential,
        smallProduct: KernelsPortable.smallProduct, decayRows: KernelsPortable.decayRows,
        convolve: KernelsPortable.convolve, selectiveScan: KernelsPortable.selectiveScan)
}
