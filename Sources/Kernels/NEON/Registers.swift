// Shared by the kernels of this tier: loads and sums of eight floats.

public import CIntrinsics
import KernelFormats

/// Two registers.
typealias Floats = SIMD8<Float>

@inline(__always)
func load(_ p: UnsafePointer<Float>) -> Floats { UnsafeRawPointer(p).loadUnaligned(as: Floats.self) }

@inline(__always)
func halves(_ v: SIMD16<Float>) -> (low: Floats, high: Floats) { unsafeBitCast(v, to: (Floats, Floats).self) }

@inline(__always)
func sum(_ a: Floats) -> Float { lane_sums(a, a, a, a)[0] }
