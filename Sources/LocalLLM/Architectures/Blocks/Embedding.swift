/// Token embedding: the start of the residual stream.
struct Embedding {
    let table: WeightMatrix
    /// Factor on each vector.
    var scale: Float = 1
    /// Learned vectors to add, one per position; `nil`: attention encodes positions.
    var positions: WeightMatrix?
    /// Added to each vector: the token type in BERT.
    var bias: [Float]?
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
        bias?.withUnsafeBufferPointer { bias in
            compute.forEachRow(of: residual) { row in
                compute.kernels.rows.add(residual[row], bias.baseAddress!, width)
            }
        }
        compute.addAdapters(toRows: residual, of: "token_types.weight", row: 0)
        if let norm { compute.normalize(residual, norm, into: residual) }
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

    /// Logits or states of the step's output rows.
    func outputs(_ step: Step, _ residual: Matrix, _ work: Workspace, _ compute: Compute) -> Matrix {
        let count = step.outputRows.count
        let chosen = work[.normed, count, residual.columns]
        for (index, row) in step.outputRows.enumerated() {
            chosen[index].update(from: residual[row], count: residual.columns)
        }
        if let norm { compute.normalize(chosen, norm, into: chosen) }
        if step.output == .states { return chosen }
        if stateScale != 1 { compute.scale(chosen, by: stateScale) }
        let logits = work[.logits, count, vocabularySize]
        compute.multiply(chosen, by: projection, into: logits, stepRows: step.outputRows)
        if logitScale != 1 { compute.scale(logits, by: logitScale) }
        if softcap != 0 { compute.softcap(logits, at: softcap) }
        if let suppressed {
            for row in 0..<count {
                for token in suppressed.clamped(to: 0..<vocabularySize) {
                    logits[row][token] = -Float.greatestFiniteMagnitude
                }
            }
        }
        return logits
    }
}
