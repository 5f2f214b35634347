import Compute

/// Token embedding: the start of the residual stream.
struct Embedding {
    let table: WeightMatrix
    /// Factor on each vector.
    var scale: Float = 1
    /// Learned vectors to add, one per position; `nil`: attention encodes positions.
    var positions: WeightMatrix?
    /// Added to each vector: the token type in BERT.
    var bias: [Float]?
    /// Added instead after the first of these tokens of an input: the type of a pair's second text.
    var second: (separator: Int32, bias: [Float])?
    var norm: Norm?

    var width: Int { table.columns }

    func embed(_ step: Step, into residual: Matrix, _ work: Workspace, on compute: Compute) {
        compute.embed(table, rows: step.tokens, into: residual)
        compute.addAdapters(toEmbeddings: residual, of: table, step.tokens)
        if scale != 1 { compute.scale(residual, by: scale) }
        if let positions {
            // Positions beyond the table use its last vector.
            let added = work[.mixed, residual.rows, width]
            compute.embed(positions, rows: step.positions.map { min($0, Int32(positions.rows - 1)) }, into: added)
            compute.add(added, to: residual)
        }
        if let bias { addTypes(bias, step, to: residual, on: compute) }
        compute.addAdapters(toRows: residual, of: "token_types.weight", row: 0)
        if let norm { compute.normalize(residual, norm, into: residual) }
    }

    private func addTypes(_ first: [Float], _ step: Step, to residual: Matrix, on compute: Compute) {
        guard let second else { return compute.add(first, to: residual) }
        var types = [Int](repeating: 0, count: residual.rows)
        // All rows of an input are in one step.
        for row in 1..<max(1, residual.rows) where step.positions[row] != 0 {
            types[row] = step.tokens[row - 1] == second.separator ? 1 : types[row - 1]
        }
        compute.add([first, second.bias], types, to: residual)
    }
}

/// Norm and projection from the residual stream to logits.
struct OutputHead {
    /// `nil`: the model has no final norm.
    var norm: Norm?
    var projection: Linear
    /// Factor on the normalized states before the projection.
    var stateScale: Float = 1
    /// Factor on the logits.
    var logitScale: Float = 1
    /// Logits x become `softcap · tanh(x / softcap)`; 0: no softcap.
    var softcap: Float = 0

    /// Tokens that are never sampled.
    var suppressed: Range<Int>?

    var vocabularySize: Int { projection.weights.rows }

    /// Whether logits are something else than outputs of the projection.
    private var changesLogits: Bool { logitScale != 1 || softcap != 0 || !projection.isPlain || suppressed != nil }

    /// Logits or states of the step's output rows.
    func outputs(_ step: Step, _ residual: Matrix, _ work: Workspace, _ compute: Compute) -> Matrix {
        let count = step.outputRows.count
        let chosen = work[.normed, count, residual.columns]
        compute.gather(step.outputRows, of: residual, into: chosen)
        if let norm { compute.normalize(chosen, norm, into: chosen) }
        if step.output == .states { return chosen }
        if stateScale != 1 { compute.scale(chosen, by: stateScale) }
        let logits = work[.logits, count, vocabularySize]
        if changesLogits {
            compute.multiply(chosen, by: projection, into: logits, stepRows: step.outputRows)
        } else {
            compute.multiplyBest(chosen, by: projection, into: logits, step.wanted, stepRows: step.outputRows)
        }
        if logitScale != 1 { compute.scale(logits, by: logitScale) }
        if softcap != 0 { compute.softcap(logits, at: softcap) }
        if let suppressed {
            let range = suppressed.clamped(to: 0..<vocabularySize)
            compute.fill(
                logits[columns: range.lowerBound, count: range.count], with: -Float.greatestFiniteMagnitude)
        }
        return logits
    }
}
