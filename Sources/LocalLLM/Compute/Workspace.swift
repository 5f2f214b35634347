/// The matrices that a step works in. Each is made when first asked for and grows to the largest step.
final class Workspace {
    enum Slot: Int, CaseIterable {
        case residual, normed, query, key, value, attended, gate, up, logits, cosines, sines
        case routerLogits, gathered
    }

    private var buffers = [AlignedBuffer?](repeating: nil, count: Slot.allCases.count)

    /// The matrix of this slot, `[rows, columns]`, with whatever it held before.
    subscript(slot: Slot, rows: Int, columns: Int) -> Matrix {
        let floats = rows * columns
        if let buffer = buffers[slot.rawValue], buffer.byteCount >= floats * MemoryLayout<Float>.stride {
            return buffer.matrix(rows: rows, columns: columns)
        }
        let buffer = AlignedBuffer(floats: floats)
        buffers[slot.rawValue] = buffer
        return buffer.matrix(rows: rows, columns: columns)
    }
}
