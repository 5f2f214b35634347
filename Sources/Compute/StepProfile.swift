import GGUF
import KernelFormats

/// Part of the time of some steps, and the least work that it has to do.
package struct ProfiledPart: Sendable, Equatable {
    /// The weights' names for a matrix product (`attn_q, attn_k, attn_v`), else what is computed (`attention`).
    package let name: String
    package var seconds = 0.0
    /// Bytes of weights, or of keys and values.
    package var bytes = 0.0
    /// Operations (a multiply-add counts as two) on floats and on bytes. Integers of 14 to 16 bits are two bytes.
    package var floatOperations = 0.0
    package var byteOperations = 0.0

    package init(
        name: String, seconds: Double = 0, bytes: Double = 0, floatOperations: Double = 0, byteOperations: Double = 0
    ) {
        self.name = name
        self.seconds = seconds
        self.bytes = bytes
        self.floatOperations = floatOperations
        self.byteOperations = byteOperations
    }
}

/// Collects the times of steps by their parts, in the order in which they first ran. Set as `Compute.profile`.
package final class StepProfile {
    typealias Instant = ContinuousClock.Instant

    package private(set) var parts: [ProfiledPart] = []
    private var places: [String: Int] = [:]

    package init() {}

    func add(_ part: ProfiledPart, since started: Instant) {
        let seconds = (ContinuousClock.now - started) / .seconds(1)
        let place = places[part.name] ?? parts.count
        if place == parts.count {
            places[part.name] = place
            parts.append(ProfiledPart(name: part.name))
        }
        parts[place].seconds += seconds
        parts[place].bytes += part.bytes
        parts[place].floatOperations += part.floatOperations
        parts[place].byteOperations += part.byteOperations
    }
}

extension ProfiledPart {
    /// The products of one parallel region.
    init(_ list: ProductList) {
        var names: [String] = []
        var part = ProfiledPart(name: "")
        for product in list.products {
            for factor in [product.gate?.factor, product.factor].lazy.compactMap({ $0 }) {
                let weights = factor.layer.weights
                if !names.contains(weights.role) { names.append(weights.role) }
                part.add(weights, list.activations[factor.activations].valuesPerWeight)
            }
        }
        if list.products.contains(where: { $0.gate != nil }) { names.append("activation") }
        self.init(
            name: names.joined(separator: ", "), bytes: part.bytes, floatOperations: part.floatOperations,
            byteOperations: part.byteOperations)
    }

    private mutating func add(_ weights: WeightMatrix, _ values: (floats: Int, bytes: Int)) {
        let products = Double(2 * weights.rows * weights.columns)
        bytes += Double(weights.packed?.bytes(rows: weights.rows) ?? weights.rows * weights.tensor.rowBytes)
        byteOperations += products * Double(values.bytes)
        floatOperations += products * Double(values.floats)
    }

    /// Attention of a step's rows to the keys and values in one layer's state.
    init(
        attentionOf step: Step, _ cached: StateShape.PagedLayer, _ shape: AttentionShape,
        _ precision: AttentionPrecision
    ) {
        self.init(name: "attention")
        let (keys, values) = (Double(2 * shape.heads * cached.keyWidth), Double(2 * shape.heads * cached.valueWidth))
        for segment in step.segments {
            let positions = segment.start..<segment.start + segment.rows.count
            let seen = positions.reduce(0) { $0 + $1 + 1 - shape.oldest(seenFrom: $1) }
            if segment.rows.lowerBound < precision.exactRows {
                floatOperations += (keys + values) * Double(seen)
            } else {
                byteOperations += ((precision.hasByteScores ? 1 : 2) * keys + 2 * values) * Double(seen)
            }
            let tokens = positions.upperBound - shape.oldest(seenFrom: positions.lowerBound)
            bytes += Double(tokens * cached.heads * cached.headBytes) / Double(pageTokens)
        }
    }

    /// Attention without a causal mask.
    init(attentionWithin spans: [AttentionSpan], _ shape: BidirectionalShape) {
        let pairs = spans.reduce(0) { sum, span in
            let seen = shape.reach.map { min(span.keys.count, 2 * $0 + 1) } ?? span.keys.count
            return sum + span.queries.count * seen
        }
        self.init(
            name: "attention",
            floatOperations: Double(2 * shape.heads * (shape.keyWidth + shape.valueWidth)) * Double(pairs))
    }
}

extension WeightMatrix {
    /// The tensor's name without the layer and `.weight`: `blk.3.attn_q.weight` is `attn_q`.
    fileprivate var role: String {
        var parts = tensor.name.split(separator: ".")
        if parts.count > 2, Int(parts[1]) != nil { parts.removeFirst(2) }
        if parts.count > 1, parts.last == "weight" { parts.removeLast() }
        return parts.joined(separator: ".")
    }
}
