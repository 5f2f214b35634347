import CMath
public import KernelFormats

extension Activation {
    @inline(__always)
    func callAsFunction(_ x: Float) -> Float {
        switch self {
        case .silu: x / (1 + expf(-x))
        case .gelu: 0.5 * x * (1 + tanhf(0.797_884_56 * x * (1 + 0.044_715 * x * x)))
        case .exactGELU: 0.5 * x * (1 + erff(x * 0.707_106_77))
        case .quickGELU: x / (1 + expf(-1.702 * x))
        case .relu: max(0, x)
        case .squaredReLU: max(0, x) * max(0, x)
        case .xIELU(let n, let p, let beta, let epsilon):
            x > 0 ? p * x * x + beta * x : n * (expm1f(min(x, epsilon)) - x) + beta * x
        case .limitedSiLU(let limit): min(limit, x / (1 + expf(-x)))
        case .siluOfLimited(let limit): min(limit, x) / (1 + expf(-min(limit, x)))
        case .gptOSS: min(7, x) / (1 + expf(-1.702 * min(7, x)))
        case .situ(let beta, _): beta * tanhf(x / beta) / (1 + expf(-x))
        }
    }

    /// The factor for the activated gate.
    @inline(__always)
    func gated(_ x: Float) -> Float {
        switch self {
        case .limitedSiLU(let limit), .siluOfLimited(let limit): min(limit, max(-limit, x))
        case .gptOSS: min(7, max(-7, x)) + 1
        case .situ(_, let beta): beta > 0 ? beta * tanhf(x / beta) : x
        default: x
        }
    }
}

/// `y[i] = activation(x[i])`. `y` may be `x`.
@inline(never)
public func activate(
    _ x: UnsafePointer<Float>, _ activation: Activation, into y: UnsafeMutablePointer<Float>, count: Int
) {
    for i in 0..<count { y[i] = activation(x[i]) }
}

/// `y[i] = activation(gate[i]) · up[i]` (GLU variants, Shazeer 2020). `y` may be `gate` or `up`.
@inline(never)
public func gate(
    _ gate: UnsafePointer<Float>, _ up: UnsafePointer<Float>, _ activation: Activation,
    into y: UnsafeMutablePointer<Float>, count: Int
) {
    for i in 0..<count { y[i] = activation(gate[i]) * activation.gated(up[i]) }
}

/// `y[i] = silu(gate[i]) · up[i]`: the gate of SwiGLU. `y` may be `gate` or `up`.
@inline(never)
public func swiGLU(
    _ gate: UnsafePointer<Float>, _ up: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int
) {
    for i in 0..<count { y[i] = gate[i] / (1 + expf(-gate[i])) * up[i] }
}

/// `y[i] = 1 / (1 + e⁻ˣ)`. `y` may be `x`.
@inline(never)
public func sigmoid(_ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count { y[i] = 1 / (1 + expf(-x[i])) }
}

/// `y[i] = ln(1 + eˣ)`, computed without overflow. `y` may be `x`.
@inline(never)
public func softplus(_ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count { y[i] = max(x[i], 0) + log1pf(expf(-abs(x[i]))) }
}

/// `y[i] = eˣ`. `y` may be `x`.
@inline(never)
public func exponential(_ x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count { y[i] = expf(x[i]) }
}
