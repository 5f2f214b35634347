import GGUF

/// Copying rows, and rows of tables.
extension Compute {
    /// Copies row `rows[i]` of the table, dequantized, to row `i` of `output`.
    package func embed(_ table: WeightMatrix, rows: [some BinaryInteger], into output: Matrix) {
        timed(ProfiledPart(name: "embedding", bytes: Double(rows.count * table.tensor.rowBytes))) {
            for (index, row) in rows.enumerated() {
                kernels.dequantize(table.type, table.row(Int(row)), output[index], table.columns)
            }
        }
    }

    /// Adds vectors of `table`, `[vectors][matrix.columns]`, to each row.
    ///
    /// - Parameter taps: Calls `add` for each vector of a row, with its index and its factor.
    package func addVectors(
        of table: [Float], to matrix: Matrix,
        _ taps: (_ row: Int, _ add: (_ vector: Int, _ factor: Float) -> Void) -> Void
    ) {
        let width = matrix.columns
        table.withUnsafeBufferPointer { table in
            forEachRow(of: matrix) { row in
                taps(row) { vector, factor in
                    kernels.rows.addMultiple(matrix[row], table.baseAddress! + vector * width, factor, width)
                }
            }
        }
    }

    /// Adds to each row the vector of its index.
    package func add(_ vectors: [[Float]], _ indices: [Int], to matrix: Matrix) {
        forEachRow(of: matrix) { row in
            vectors[indices[row]].withUnsafeBufferPointer {
                kernels.rows.add(matrix[row], $0.baseAddress!, matrix.columns)
            }
        }
    }

    package func copy(_ input: Matrix, into output: Matrix) {
        forEachRow(of: input) { row in output[row].update(from: input[row], count: input.columns) }
    }

    package func clear(_ matrix: Matrix) {
        forEachRow(of: matrix) { row in matrix[row].update(repeating: 0, count: matrix.columns) }
    }

    /// Sets each value.
    package func fill(_ matrix: Matrix, with value: Float) {
        forEachRow(of: matrix) { row in matrix[row].update(repeating: value, count: matrix.columns) }
    }

    /// Sets each row, `[columns]`.
    package func fill(_ matrix: Matrix, withRow values: [Float]) {
        values.withUnsafeBufferPointer { values in
            forEachRow(of: matrix) { row in
                matrix[row].update(from: values.baseAddress!, count: matrix.columns)
            }
        }
    }

    /// Copies row `rows[i]` of the input to row `i` of the output.
    package func gather(_ rows: [Int], of input: Matrix, into output: Matrix) {
        forEachRow(of: output) { row in output[row].update(from: input[rows[row]], count: input.columns) }
    }

    /// Copies row `i` of the input to row `rows[i]` of the output.
    package func scatter(_ input: Matrix, toRows rows: [Int], of output: Matrix) {
        forEachRow(of: input) { row in output[rows[row]].update(from: input[row], count: input.columns) }
    }

    /// Averages each `group` rows of the input: `[rows · group, columns]` to `[rows, columns]`.
    package func average(_ input: Matrix, group: Int, into output: Matrix) {
        forEachRow(of: output) { row in
            output[row].update(repeating: 0, count: output.columns)
            for member in 0..<group {
                kernels.rows.addMultiple(output[row], input[row * group + member], 1 / Float(group), output.columns)
            }
        }
    }

    /// Joins each `group` rows to one, value by value: `[rows · group, columns]` to `[rows, columns][group]`.
    package func interleave(_ input: Matrix, group: Int, into output: Matrix) {
        forEachRow(of: output) { row in
            for member in 0..<group {
                let values = input[row * group + member]
                for column in 0..<input.columns { output[row][column * group + member] = values[column] }
            }
        }
    }
}
