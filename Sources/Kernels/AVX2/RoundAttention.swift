// Converts queries and pages to the 16-bit integers of `WordAttention`.

public import KernelFormats
import KernelsFloat

/// Quantizes 32 queries, in place: `[D][32]` floats become `[(D + 1) / 2][32][2]` integers.
///
/// - Parameter scales: `[32]`; NaN for a query with a number that is not finite.
@inline(never)
public func roundQueries(_ queries: UnsafeMutablePointer<Float>, width: Int, scales: UnsafeMutablePointer<Float>) {
    roundColumns(
        EightIntegers.self, FloatNumbers.self, UnsafeRawPointer(queries), width, into: UnsafeMutableRawPointer(queries),
        scales)
}

/// Quantizes a page of floats: `[D][32]` keys and `[32][Dv]` values. Dv is a multiple of 8.
@inline(never)
public func roundPage(_ floats: UnsafePointer<Float>, into page: WordPage) {
    round(FloatNumbers.self, UnsafeRawPointer(floats), into: page, next: UnsafeRawPointer(floats))
}

/// The same for a page of halves.
///
/// - Parameter next: The page to prefetch.
@inline(never)
public func roundHalves(_ halves: UnsafeRawPointer, into page: WordPage, next: UnsafeRawPointer) {
    round(HalfNumbers.self, halves, into: page, next: next)
}

@inline(__always)
private func round<Numbers: NumberFormat>(
    _: Numbers.Type, _ source: UnsafeRawPointer, into page: WordPage, next: UnsafeRawPointer
) {
    roundPage(EightIntegers.self, Numbers.self, source, into: page, next: next) {
        roundColumns(EightIntegers.self, Numbers.self, source, page.keyWidth, into: page.keys, page.scales)
    }
}
