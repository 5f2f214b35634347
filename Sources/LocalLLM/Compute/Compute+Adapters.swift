import KernelFormats

extension Compute {
    /// Parts of A's rows, so that all threads compute a single update.
    private static let parts = 4
    /// Outputs of an update that a worker computes in one piece.
    private static let outputsAtOnce = 1024
    /// Multiplications below which waking other threads does not pay.
    private static let serialProducts = 1 << 16

    /// The part of one adapter in one row of a product.
    private struct Piece {
        let update: LoRAAdapter.Update
        let scale: Float
        let input: Matrix
        let output: Matrix
        /// Row of the input and of the output.
        let row: Int
        /// Index of the expert's matrix in the update.
        let matrix: Int
        /// Index in the update of the product's first output.
        let firstOutput: Int
        /// Offset of its `rank` values A·x.
        let hidden: Int
    }

    /// Adds the updates of the step's adapters to computed products.
    func addAdapters(to list: ProductList) {
        var pieces: [Piece] = []
        var hiddenCount = 0
        for product in list.products {
            let weights = product.layer.weights
            for use in adapters {
                guard let update = use.adapter.updates[weights.tensor.name], !update.isOfEmbeddings else { continue }
                let input = list.inputs[product.input].matrix
                let rows = product.stepRows.map { map in map.indices.filter { use.rows.contains(map[$0]) } } ?? use.rows
                for row in rows {
                    pieces.append(
                        Piece(
                            update: update, scale: use.scale * update.factor, input: input, output: product.output,
                            row: row, matrix: weights.firstRow / update.rows,
                            firstOutput: weights.firstRow % update.rows, hidden: hiddenCount))
                    hiddenCount += update.rank
                }
            }
        }
        guard !pieces.isEmpty else { return }
        let hidden = packedActivations(floats: hiddenCount)
        let work = pieces.reduce(0) { $0 + $1.update.rank * ($1.update.columns + $1.output.columns) }
        forEachPiece(pieces.count * Self.parts, serially: work <= Self.serialProducts) { index, _ in
            let (piece, part) = (pieces[index / Self.parts], index % Self.parts)
            let (update, x) = (piece.update, piece.input[piece.row])
            update.a.withUnsafeBufferPointer { a in
                let matrix = a.baseAddress! + piece.matrix * update.rank * update.columns
                for k in part * update.rank / Self.parts..<(part + 1) * update.rank / Self.parts {
                    hidden[piece.hidden + k] =
                        kernels.rows.dot(matrix + k * update.columns, x, update.columns) * piece.scale
                }
            }
        }
        // Several adapters of a row are added in order, by the same worker.
        let blocks = pieces.map { ($0.output.columns + Self.outputsAtOnce - 1) / Self.outputsAtOnce }.max() ?? 0
        forEachPiece(blocks, serially: work <= Self.serialProducts) { block, _ in
            for piece in pieces {
                let first = block * Self.outputsAtOnce
                let count = min(Self.outputsAtOnce, piece.output.columns - first)
                guard count > 0 else { continue }
                let update = piece.update
                update.b.withUnsafeBufferPointer { b in
                    let matrix = b.baseAddress! + piece.matrix * update.rank * update.rows + piece.firstOutput + first
                    kernels.rows.addMultiples(
                        piece.output[piece.row] + first, matrix, update.rows,
                        UnsafeBufferPointer(start: hidden + piece.hidden, count: update.rank), count)
                }
            }
        }
    }

    /// Adds the updates of one table row by the step's adapters to each row of `output`.
    func addAdapters(toRows output: Matrix, of name: String, row: Int) {
        for use in adapters {
            guard let update = use.adapter.updates[name] else { continue }
            for k in 0..<update.rank {
                let factor = use.scale * update.factor * update.b[k * update.rows + row]
                update.a.withUnsafeBufferPointer { a in
                    for index in use.rows {
                        kernels.rows.addMultiple(
                            output[index], a.baseAddress! + k * update.columns, factor, update.columns)
                    }
                }
            }
        }
    }

    /// Adds the updates of the step's adapters to embeddings, `[tokens, width]`.
    func addAdapters(toEmbeddings output: Matrix, of table: WeightMatrix, _ tokens: [Int32]) {
        for use in adapters {
            guard let update = use.adapter.updates[table.tensor.name], update.isOfEmbeddings else { continue }
            for row in use.rows {
                for k in 0..<update.rank {
                    let factor = use.scale * update.factor * update.a[Int(tokens[row]) * update.rank + k]
                    update.b.withUnsafeBufferPointer {
                        kernels.rows.addMultiple(output[row], $0.baseAddress! + k * update.rows, factor, update.rows)
                    }
                }
            }
        }
    }
}
