import GGUF
import Compute
import Foundation

/// Compresses each group of tokens to one vector, a mean that is weighted per value (DeepSeek V4):
///
///     c = Σₜ softmaxₜ(gateₜ + biasₜ) · valueₜ        vector = rotate(norm(c)) at the position of the group's first token
///
/// Groups of 4 overlap: each token has a second gate and value, which count in the group after its own.
///
/// State: for the group that is being read, and with overlap for the next one, the running maximum of the gates, the sum
/// of their weights and of the weighted values, `[3][width]`. A sum of 0 means that there was no token yet.
final class VectorCompressor {
    private let width: Int
    /// Tokens per group.
    private let tokens: Int
    private let overlaps: Bool
    /// To `[next group | own group]` with overlap.
    private let value: Linear
    private let gate: Linear
    /// `[tokens][columns of gate]`
    private let bias: [Float]
    private let norm: Norm
    private let rotary: Rotary

    init(_ layer: LayerBuilder, width: Int, tokens: Int, _ rotary: Rotary) throws(ModelFileError) {
        self.width = width
        self.tokens = tokens
        self.rotary = rotary
        overlaps = tokens == 4
        let columns = overlaps ? 2 * width : width
        value = try layer.linear("attn_compressor_kv", from: layer.width, to: columns)
        gate = try layer.linear("attn_compressor_gate", from: layer.width, to: columns)
        bias = try layer.file.tensor(layer.name + "attn_compressor_ape.weight", shape: [columns, tokens]).floats()
        norm = try layer.model.norm(layer.name + "attn_compressor_norm", width: width)
    }

    var state: LayerState {
        .both(.compressed(width: width, tokens: tokens), .recurrent(floats: (overlaps ? 6 : 3) * width))
    }

    /// Stores the vectors of all groups that end in this step.
    func compress(_ input: Matrix, _ context: LayerContext) {
        let (compute, work) = (context.compute, context.work)
        let values = work[.projected, input.rows, value.weights.rows]
        let gates = work[.convolved, input.rows, gate.weights.rows]
        compute.multiply {
            $0.add(input, by: value, into: values)
            $0.add(input, by: gate, into: gates)
        }
        for (run, segment) in zip(context.runs, context.step.segments) {
            let first = run.start / tokens
            let count = (run.start + run.rows.count) / tokens - first
            let vectors = work[.readings, max(1, count), width]
            // Values are independent: each worker reads the rows in order.
            let part = 64
            compute.forEachPiece((width + part - 1) / part, serially: run.rows.count <= 2) { piece, _ in
                pool(values, gates, run, piece * part..<min(width, (piece + 1) * part), into: vectors)
            }
            guard count > 0 else { continue }
            compute.normalize(vectors, norm, into: vectors)
            let angles = rotary.angles(
                of: (0..<count).map { Int32((first + $0) * tokens) }, in: work, index: context.angles.count)
            let rope = 2 * rotary.frequencies.count
            compute.rotate(vectors[columns: width - rope, count: rope], headWidth: rope, by: angles)
            let pages = segment.state.shape.compressedPages(of: context.layer)
            for index in 0..<count {
                compute.kernels.rows.storeHalf(
                    vectors[index], segment.state.compressed(first + index, of: pages, tokens: tokens), 1, width)
            }
        }
    }

    /// Adds the rows of a run to the means, for some of the values.
    private func pool(_ values: Matrix, _ gates: Matrix, _ run: RecurrentRun, _ range: Range<Int>, into vectors: Matrix)
    {
        let (own, next) = (Mean(run.state, width), Mean(run.state + 3 * width, width))
        let ownColumn = overlaps ? width : 0
        for row in run.rows {
            let position = run.start + row - run.rows.lowerBound
            let place = position % tokens
            let bias = place * gate.weights.rows
            for index in range {
                if place == 0 {
                    if overlaps { own.copy(next, index) } else { own.clear(index) }
                    if overlaps { next.clear(index) }
                }
                let column = ownColumn + index
                own.add(values[row][column], gates[row][column] + self.bias[bias + column], index)
                if overlaps { next.add(values[row][index], gates[row][index] + self.bias[bias + index], index) }
                guard place == tokens - 1 else { continue }
                vectors[(position + 1) / tokens - 1 - run.start / tokens][index] = own.value(index)
            }
        }
    }

    /// Means with weights e^gate, computed token by token (online softmax).
    private struct Mean {
        let maxima: UnsafeMutablePointer<Float>
        let sums: UnsafeMutablePointer<Float>
        let weighted: UnsafeMutablePointer<Float>

        init(_ state: UnsafeMutablePointer<Float>, _ width: Int) {
            (maxima, sums, weighted) = (state, state + width, state + 2 * width)
        }

        func clear(_ index: Int) { sums[index] = 0 }

        func copy(_ other: Mean, _ index: Int) {
            maxima[index] = other.maxima[index]
            sums[index] = other.sums[index]
            weighted[index] = other.weighted[index]
        }

        func add(_ value: Float, _ gate: Float, _ index: Int) {
            if sums[index] == 0 {
                (maxima[index], sums[index], weighted[index]) = (gate, 1, value)
            } else if gate <= maxima[index] {
                let weight = exp(gate - maxima[index])
                sums[index] += weight
                weighted[index] += weight * value
            } else {
                let factor = exp(maxima[index] - gate)
                maxima[index] = gate
                sums[index] = sums[index] * factor + 1
                weighted[index] = weighted[index] * factor + value
            }
        }

        func value(_ index: Int) -> Float { weighted[index] / sums[index] }
    }
}
