/// The nonlinearity of an MLP.
public enum Activation: Sendable, Equatable {
    /// x / (1 + e⁻ˣ), also called swish.
    case silu
    /// The tanh form of x · Φ(x) (Hendrycks and Gimpel 2016).
    case gelu
    /// x · Φ(x), Φ the normal distribution.
    case exactGELU
    /// x / (1 + e^(−1.702 x))
    case quickGELU
    /// max(0, x)
    case relu
    /// max(0, x)² (So et al. 2021).
    case squaredReLU
    /// An expanded integral of the ELU (Huang and Schlag 2025): `p·x² + β·x` for positive x, else
    /// `n·(e^min(x, ε) − 1 − x) + β·x`.
    case xIELU(n: Float, p: Float, beta: Float, epsilon: Float)
    /// SiLU with its output limited to at most `limit`; the gated value is limited to ±`limit`.
    case limitedSiLU(limit: Float)
    /// SiLU with its input limited to at most `limit`; the gated value is limited to ±`limit`.
    case siluOfLimited(limit: Float)
    /// `x · sigmoid(1.702 x)` with x limited to at most 7; the gated value is limited to ±7, then 1 is added (gpt-oss).
    case gptOSS
    /// `β · tanh(x / β) · sigmoid(x)`; the gated value becomes `λ · tanh(x / λ)`, or with λ = 0 is unchanged (Kimi K3).
    case situ(beta: Float, linearBeta: Float)
}
