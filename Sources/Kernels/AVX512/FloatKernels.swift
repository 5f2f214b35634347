// The kernels of `KernelsFloat` that gain from wider registers. Widths are multiples of 16.

public import KernelFormats
import KernelsFloat

/// The 32 tokens of a page, or 32 columns.
private typealias Page = VectorPair<SixteenFloats>

@inline(never)
public func swiGLU(
    _ gate: UnsafePointer<Float>, _ up: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int
) {
    swiGLU(SixteenFloats.self, gate, up, into: y, count: count)
}

/// As `KernelsPortable.attendPage`.
@inline(never)
public func attendPage(_ work: PageAttention) {
    attend(
        SixteenFloats.self, EightRows<Page>.self, FourRows<Page>.self, work, FloatNumbers.self,
        UnsafeRawPointer(work.page), next: nil)
}

/// As `attendPage`, with the same bits, for a page of halves, which are converted in registers.
///
/// A page is read once for each eight rows.
///
/// - Parameters:
///   - work: Its `page` is not read.
///   - page: `[D][32]` keys and `[32][Dv]` values.
///   - next: The page to prefetch.
@inline(never)
public func attendHalves(_ work: PageAttention, _ page: UnsafeRawPointer, next: UnsafeRawPointer) {
    attend(SixteenFloats.self, EightRows<Page>.self, FourRows<Page>.self, work, HalfNumbers.self, page, next: next)
}

/// As `KernelsPortable.widenHalves`, for any widths.
///
/// - Parameter next: The page to prefetch.
@inline(never)
public func widenHalves(
    _ page: UnsafeRawPointer, keyWidth: Int, valueWidth: Int, into destination: UnsafeMutablePointer<Float>,
    next: UnsafeRawPointer
) {
    widenHalves(Page.self, page, keyWidth: keyWidth, valueWidth: valueWidth, into: destination, next: next)
}
