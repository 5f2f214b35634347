import Glibc

/// `y[i] = silu(gate[i]) · up[i]`, silu(x) = x / (1 + e⁻ˣ): the gate of SwiGLU (Shazeer 2020). `y` may be `gate`.
@inline(never)
public func swiGLU(
    _ gate: UnsafePointer<Float>, _ up: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int
) {
    for i in 0..<count { y[i] = gate[i] / (1 + expf(-gate[i])) * up[i] }
}
