import KernelFormats

extension Compute {
    /// Channels that a worker scans in turn.
    private static let scanChannels = 64

    /// Mamba's recurrence: `h = exp(Δ·A)·h + Δ·B·x`, `output = C·h + D·x`.
    ///
    /// - Parameters:
    ///   - input: x, `[rows, channels]`
    ///   - steps: Δ, `[rows, channels]`
    ///   - b: `[rows, states]`, and `c` likewise.
    ///   - rates: A, `[states][channels]`
    ///   - skips: D, `[channels]`
    ///   - stateOffset: Offset of h, `[states][channels]`, in a run's state.
    ///   - output: May be `steps`.
    package func selectiveScan(
        _ input: Matrix, steps: Matrix, b: Matrix, c: Matrix, rates: [Float], skips: [Float], _ runs: [RecurrentRun],
        stateOffset: Int, into output: Matrix
    ) {
        let (channels, states) = (input.columns, b.columns)
        assert(input.stride == steps.stride && output.stride == steps.stride && b.stride == c.stride, "other strides")
        let items = (channels + Self.scanChannels - 1) / Self.scanChannels
        rates.withUnsafeBufferPointer { rates in
            skips.withUnsafeBufferPointer { skips in
                let isSmall = input.rows * states * channels <= 1 << 12
                forEachItem(runs.count * items, serially: isSmall) { item, _ in
                    let run = runs[item / items]
                    let (row, first) = (run.rows.lowerBound, item % items * Self.scanChannels)
                    kernels.recurrent.selectiveScan(
                        SelectiveScan(
                            x: input[row] + first, delta: steps[row] + first, stride: steps.stride, b: b[row],
                            c: c[row],
                            selectStride: b.stride, a: rates.baseAddress! + first, d: skips.baseAddress! + first,
                            h: run.state + stateOffset + first, stateStride: channels, tokens: run.rows.count,
                            channels: min(Self.scanChannels, channels - first), states: states,
                            y: output[row] + first))
                }
            }
        }
    }
}
