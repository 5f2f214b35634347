// Rotary position embedding (Su et al. 2021), with one cosine and one sine per pair of values:
//
//     (x, y) → (x·cos − y·sin, x·sin + y·cos)
//
// Models differ in which values form a pair.

/// Pairs (0, 1), (2, 3), …: the order of Llama's GGUF files.
@inline(never)
public func rotateAdjacent(
    _ x: UnsafeMutablePointer<Float>, cos: UnsafePointer<Float>, sin: UnsafePointer<Float>, pairs: Int
) {
    for i in 0..<pairs {
        let (a, b) = (x[2 &* i], x[2 &* i &+ 1])
        x[2 &* i] = a * cos[i] - b * sin[i]
        x[2 &* i &+ 1] = a * sin[i] + b * cos[i]
    }
}

/// Pairs (0, n), (1, n + 1), …, n = `pairs`: the order of GPT-NeoX, Qwen and most others.
@inline(never)
public func rotateHalves(
    _ x: UnsafeMutablePointer<Float>, cos: UnsafePointer<Float>, sin: UnsafePointer<Float>, pairs: Int
) {
    let y = x + pairs
    for i in 0..<pairs {
        let (a, b) = (x[i], y[i])
        x[i] = a * cos[i] - b * sin[i]
        y[i] = a * sin[i] + b * cos[i]
    }
}
