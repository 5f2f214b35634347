import Compute
import KernelFormats

/// Maps an encoder's patches to token vectors of the language model: a sequence of operations.
struct Projector: Sendable {
    enum Operation: Sendable {
        /// Concatenates the patches of a token to one row.
        case concatenate
        /// Concatenates with the patches of each channel adjacent, in the order of convolution weights.
        case concatenateByChannel
        /// Averages a token's patches.
        case average
        case normalize(Norm)
        case linear(Linear)
        case activate(Activation)
        /// Gated layer: `activation(gate) · up`.
        case gate(Linear, up: Linear, Activation)
        case scale(Float)
        /// Adds a value to each column, then multiplies it by its scale.
        case shift([Float], scale: [Float])
    }

    let operations: [Operation]

    /// - Parameters:
    ///   - patches: `[patches, width]`, patches of a token adjacent; overwritten.
    ///   - group: Patches per token.
    ///   - work: Must not be the workspace that holds `patches`.
    /// - Returns: `[tokens, output width]`, in `work` or in the memory of `patches`.
    func forward(_ patches: Matrix, group: Int, _ work: Workspace, on compute: Compute) -> Matrix {
        var rows = patches
        // Each result needs another slot than its input.
        var slots: [Workspace.Slot] = [.query, .key, .value]
        func next(_ rows: Int, _ columns: Int) -> Matrix {
            slots.append(slots.removeFirst())
            return work[slots[0], rows, columns]
        }
        for operation in operations {
            switch operation {
            case .concatenate:
                // The patches are adjacent already.
                rows = rows.reshaped(rows: rows.rows / group, columns: rows.columns * group)
            case .concatenateByChannel:
                let result = next(rows.rows / group, rows.columns * group)
                compute.interleave(rows, group: group, into: result)
                rows = result
            case .average:
                let result = next(rows.rows / group, rows.columns)
                compute.average(rows, group: group, into: result)
                rows = result
            case .normalize(let norm): compute.normalize(rows, norm, into: rows)
            case .linear(let layer):
                let result = next(rows.rows, layer.weights.rows)
                compute.multiply(rows, by: layer, into: result, exact: 0)
                rows = result
            case .activate(let activation): compute.activate(rows, activation)
            case .gate(let gate, let up, let activation):
                let gated = next(rows.rows, gate.weights.rows)
                let raised = next(rows.rows, up.weights.rows)
                compute.multiply {
                    $0.add(rows, by: gate, into: gated, exact: 0)
                    $0.add(rows, by: up, into: raised, exact: 0)
                }
                compute.activate(gated, raised, activation, into: raised)
                rows = raised
            case .scale(let factor): compute.scale(rows, by: factor)
            case .shift(let summands, let factors):
                compute.add(summands, to: rows)
                compute.scale(rows, by: factors)
            }
        }
        return rows
    }

    /// Columns of the result for input rows of `width`.
    func outputWidth(of width: Int, group: Int) -> Int {
        operations.reduce(width) { width, operation in
            switch operation {
            case .concatenate, .concatenateByChannel: width * group
            case .linear(let layer): layer.weights.rows
            case .gate(_, let up, _): up.weights.rows
            default: width
            }
        }
    }
}
