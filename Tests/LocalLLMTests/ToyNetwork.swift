@testable import Networks
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Compute
@testable import LocalLLM

/// A network whose layers are the states to be tested, each with the simplest mixer that has such a state.
///
/// Rows are computed one by one, so that the same tokens give the same bits however they are cut into steps.
final class ToyNetwork: Network {
    static let width = 16
    let vocabularySize = 64
    let trainedContext = 1 << 16
    var stateShape: StateShape

    private let embedding: [Float]
    private let matrices: [[Float]]
    private let output: [Float]
    private let work = Workspace()
    private let done: ToyWork?

    /// - Parameters:
    ///   - done: Counts what is computed.
    ///   - seed: Of the weights.
    ///   - sharpness: Factor on the logits.
    init(_ layers: [LayerState], counting done: ToyWork? = nil, seed: UInt64 = 14, sharpness: Float = 1) {
        stateShape = StateShape(layers)
        self.done = done
        var generator = SeededGenerator(seed: seed)
        func matrix(_ rows: Int) -> [Float] {
            (0..<rows * Self.width).map { _ in Float.random(in: -0.5...0.5, using: &generator) }
        }
        embedding = matrix(64)
        matrices = layers.map { _ in matrix(3 * Self.width) }
        output = matrix(64).map { sharpness * $0 }
    }

    static let keysAndValues = LayerState.keysAndValues(heads: 2, keyWidth: 8, valueWidth: 8)
    static let recurrent = LayerState.recurrent(floats: width)
    static func window(_ length: Int) -> LayerState {
        .keysAndValues(heads: 1, keyWidth: 16, valueWidth: 16, window: length)
    }
    static let latent = LayerState.latent(width: 16, valueWidth: 8)

    func forward(_ step: Step, on compute: Compute) -> Matrix {
        done?.add(rows: step.tokens.count)
        let residual = work[.residual, step.tokens.count, Self.width]
        for (row, token) in step.tokens.enumerated() {
            for d in 0..<Self.width { residual[row][d] = embedding[Int(token) * Self.width + d] }
            residual[row][0] += Float(step.positions[row] % 7) / 7
        }
        for (index, layer) in stateShape.layers.enumerated() where !step.isAbandoned() {
            mix(layer, index, residual, step, compute)
        }
        let logits = work[.logits, step.outputRows.count, vocabularySize]
        for (index, row) in step.outputRows.enumerated() { multiply(residual[row], output, 0, logits[index], 64) }
        return logits
    }

    private func mix(_ layer: LayerState, _ index: Int, _ residual: Matrix, _ step: Step, _ compute: Compute) {
        switch layer {
        case .none, .compressed: break
        case .recurrent: recur(index, residual, step)
        case .keysAndValues(let heads, let keyWidth, let valueWidth, let window):
            attend(index, residual, step, compute, (heads * keyWidth, heads * valueWidth), window)
        case .latent(let width, let valueWidth, _): attend(index, residual, step, compute, (width, valueWidth), nil)
        case .shared: attend(index, residual, step, compute, (16, 16), nil)
        case .both(let first, let second):
            mix(first, index, residual, step, compute)
            mix(second, index, residual, step, compute)
        }
    }

    /// A sum that decays.
    private func recur(_ index: Int, _ residual: Matrix, _ step: Step) {
        for segment in step.segments {
            let state = segment.state.recurrent(layer: index)
            for row in segment.rows {
                for d in 0..<Self.width {
                    state[d] = 0.9 * state[d] + residual[row][(d + 3) % Self.width] / 2
                    residual[row][d] += state[d] / 2
                }
            }
        }
    }

    private func attend(
        _ index: Int, _ residual: Matrix, _ step: Step, _ compute: Compute, _ widths: (key: Int, value: Int),
        _ window: Int?
    ) {
        let (rows, matrix) = (residual.rows, matrices[index])
        let cached = stateShape.pages(of: index)
        let query = work[.query, rows, 16]
        let (key, value) = (work[.key, rows, widths.key], work[.value, rows, widths.value])
        let attended = work[.attended, rows, 16 / cached.keyWidth * cached.valueWidth]
        for row in 0..<rows {
            multiply(residual[row], matrix, 0, query[row], 16)
            multiply(residual[row], matrix, 16, key[row], widths.key)
            multiply(residual[row], matrix, 32, value[row], widths.value)
        }
        let isShared = if case .shared = stateShape.layers[index] { true } else { false }
        if !isShared { compute.store(key, cached.isLatent ? nil : value, of: step, layer: index) }
        compute.attention(
            query, of: step, layer: index, AttentionShape(heads: 16 / cached.keyWidth, scale: 0.25, window: window),
            into: attended)
        for row in 0..<rows { for d in 0..<attended.columns { residual[row][d] += attended[row][d] } }
    }

    private func multiply(
        _ input: UnsafePointer<Float>, _ matrix: [Float], _ first: Int, _ result: UnsafeMutablePointer<Float>,
        _ count: Int
    ) {
        for row in 0..<count {
            var sum: Float = 0
            for d in 0..<Self.width { sum += input[d] * matrix[(first + row) * Self.width + d] }
            result[row] = sum
        }
    }
}

/// A network whose steps take longer.
final class SlowNetwork: Network {
    private let network: any Network
    private let seconds: Double

    init(_ network: any Network, seconds: Double) { (self.network, self.seconds) = (network, seconds) }

    var stateShape: StateShape {
        get { network.stateShape }
        set { network.stateShape = newValue }
    }
    var vocabularySize: Int { network.vocabularySize }
    var trainedContext: Int { network.trainedContext }
    var predictor: PredictionHead? { network.predictor }
    var lastStates: Matrix? { network.lastStates }

    func forward(_ step: Step, on compute: Compute) -> Matrix {
        Thread.sleep(forTimeInterval: seconds)
        return network.forward(step, on: compute)
    }
}

/// Steps and rows that a network computed.
final class ToyWork: Sendable {
    private let counts = Mutex((steps: 0, rows: 0))
    var steps: Int { counts.withLock { $0.steps } }
    var rows: Int { counts.withLock { $0.rows } }

    fileprivate func add(rows: Int) {
        counts.withLock {
            $0.steps += 1
            $0.rows += rows
        }
    }
}

/// What the tests try every claim with.
struct ToyLayers: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let layers: [LayerState]

    static let all: [ToyLayers] = [
        .init(testDescription: "attention", layers: [ToyNetwork.keysAndValues, ToyNetwork.keysAndValues]),
        .init(testDescription: "windows", layers: [ToyNetwork.window(40)]),
        .init(testDescription: "alternating windows", layers: [ToyNetwork.window(40), ToyNetwork.keysAndValues]),
        .init(testDescription: "recurrent", layers: [ToyNetwork.recurrent]),
        .init(
            testDescription: "hybrid", layers: [ToyNetwork.recurrent, ToyNetwork.keysAndValues, ToyNetwork.recurrent]),
        .init(testDescription: "latent", layers: [ToyNetwork.latent, ToyNetwork.latent]),
        .init(
            testDescription: "everything",
            layers: [
                .both(ToyNetwork.keysAndValues, ToyNetwork.recurrent), .none, ToyNetwork.window(33),
                .shared(layer: 0), ToyNetwork.latent, ToyNetwork.window(70), ToyNetwork.recurrent,
            ]),
    ]
}

extension Compute {
    /// Repacks a file's weights, as loading a model does: sums are in another order then.
    var packer: WeightPacker {
        WeightPacker(pool: pool, kernels: kernels, progress: { _, _ in true }, refuse: { _ in })
    }
}
