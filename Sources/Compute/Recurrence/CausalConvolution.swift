import KernelFormats
import Platform

/// A depthwise causal convolution over the tokens of a sequence, followed by SiLU if the model has it. Its state is the
/// last `taps − 1` inputs, `[taps − 1][channels]`, oldest first.
package struct CausalConvolution {
    package let channels: Int
    package let taps: Int
    package let silu: Bool
    /// `[taps][channels]`
    private let weights: [Float]
    private let bias: [Float]?

    package init(channels: Int, taps: Int, silu: Bool, weights: [Float], bias: [Float]?) {
        self.channels = channels
        self.taps = taps
        self.silu = silu
        self.weights = weights
        self.bias = bias
    }

    package var stateFloats: Int { (taps - 1) * channels }

    /// - Parameters:
    ///   - input: `[rows, channels]`
    ///   - output: `[rows, channels]`, must not overlap `input`.
    ///   - runs: The convolution's state is at the start of theirs.
    package func forward(_ input: Matrix, into output: Matrix, _ runs: [RecurrentRun], _ compute: Compute) {
        compute.reserveScratch(floats: taps * MemoryLayout<UnsafePointer<Float>>.size / MemoryLayout<Float>.size)
        compute.timed(ProfiledPart(name: "convolution")) {
            for run in runs {
                let isSmall = run.rows.count * channels * taps <= 1 << 14
                compute.forEachItem(run.rows.count, serially: isSmall) { index, worker in
                    let row = run.rows.lowerBound + index
                    let inputs = UnsafeMutableRawPointer(compute.scratchOfWorker(worker))
                        .bindMemory(to: UnsafePointer<Float>.self, capacity: taps)
                    for tap in 0..<taps {
                        let source = index - (taps - 1) + tap
                        inputs[tap] = UnsafePointer(
                            source < 0
                                ? run.state + (taps - 1 + source) * channels : input[run.rows.lowerBound + source])
                    }
                    weights.withUnsafeBufferPointer { weights in
                        func convolve(_ bias: UnsafePointer<Float>?) {
                            compute.kernels.recurrent.convolve(
                                Convolution(
                                    inputs: inputs, weights: weights.baseAddress!, bias: bias, taps: taps,
                                    channels: channels, silu: silu, y: output[row]))
                        }
                        if let bias { bias.withUnsafeBufferPointer { convolve($0.baseAddress) } } else { convolve(nil) }
                    }
                }
                remember(input, run)
            }
        }
    }

    /// Stores the last inputs of a run in its state.
    private func remember(_ input: Matrix, _ run: RecurrentRun) {
        let kept = max(0, taps - 1 - run.rows.count)
        // Ascending: each slot is read before it is overwritten.
        for slot in 0..<taps - 1 {
            let source =
                slot < kept
                ? run.state + (slot + run.rows.count) * channels
                : input[run.rows.upperBound - (taps - 1) + slot]
            (run.state + slot * channels).update(from: source, count: channels)
        }
    }
}

/// The same with steps of several tokens between taps, added to a residual stream: `xₜ += yₜ + silu(Σᵢ wᵢ · inputₜ₋ᵢ)`. Its
/// state is the last `history` inputs, `[history][channels]`, oldest first.
package struct DilatedConvolution {
    private let channels: Int
    private let dilation: Int
    /// `[taps][channels]`
    private let taps: [[Float]]

    package init(channels: Int, dilation: Int, taps: [[Float]]) {
        self.channels = channels
        self.dilation = dilation
        self.taps = taps
    }

    /// Tokens that the state holds.
    private var history: Int { (taps.count - 1) * dilation }

    package var stateFloats: Int { history * channels }

    /// - Parameters:
    ///   - input: `[rows, channels]`; `added`, the y, and `residual` likewise.
    ///   - stateOffset: Offset of the inputs in the run's state.
    package func forward(
        _ input: Matrix, adding added: Matrix, to residual: Matrix, _ run: RecurrentRun, stateOffset: Int,
        _ compute: Compute
    ) {
        let past = run.state + stateOffset
        func source(_ row: Int) -> UnsafeMutablePointer<Float> {
            row < run.rows.lowerBound ? past + (history + row - run.rows.lowerBound) * channels : input[row]
        }
        compute.forEachItem(run.rows.count, serially: run.rows.count <= 2) { index, _ in
            let row = run.rows.lowerBound + index
            let inputs = taps.indices.map { source(row - (taps.count - 1 - $0) * dilation) }
            let (x, y) = (residual[row], added[row])
            for column in 0..<channels {
                var sum: Float = 0
                for tap in taps.indices { sum += taps[tap][column] * inputs[tap][column] }
                x[column] += y[column] + sum / (1 + expf(-sum))
            }
        }
        // Ascending: each slot is read before it is overwritten.
        for slot in 0..<history {
            (past + slot * channels).update(from: source(run.rows.upperBound - history + slot), count: channels)
        }
    }
}
