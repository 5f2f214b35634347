/// The scratch matrices of a step, allocated on first use and grown to the largest step.
package final class Workspace {
    package enum Slot: Int, CaseIterable {
        case residual, normed, mixed, query, key, value, attended, gate, up, logits
        case routerLogits, gathered, expertInput, expertSum, latent, branch, perLayer, embedded, streams, predictions,
            connection, joined, states
        // For recurrent mixers.
        case projected, convolved, decays, gains, lowRank, shifts, mixtures, readings, writings, firstValue
    }

    private var buffers = [AlignedBuffer?](repeating: nil, count: Slot.allCases.count)
    private var angles: [AlignedBuffer] = []

    package init() {}

    /// The matrix of a slot, `[rows, columns]`, with its previous contents.
    package subscript(slot: Slot, rows: Int, columns: Int) -> Matrix {
        let floats = rows * columns
        if let buffer = buffers[slot.rawValue], buffer.byteCount >= floats * MemoryLayout<Float>.stride {
            return buffer.matrix(rows: rows, columns: columns)
        }
        let buffer = AlignedBuffer(floats: floats)
        buffers[slot.rawValue] = buffer
        return buffer.matrix(rows: rows, columns: columns)
    }

    /// Buffer for the angles of the network's rotary embedding `index`.
    package func angles(_ index: Int, _ rows: Int, _ columns: Int) -> Matrix {
        while angles.count <= index { angles.append(AlignedBuffer(byteCount: 0)) }
        if angles[index].byteCount < rows * columns * MemoryLayout<Float>.stride {
            angles[index] = AlignedBuffer(floats: rows * columns)
        }
        return angles[index].matrix(rows: rows, columns: columns)
    }
}
