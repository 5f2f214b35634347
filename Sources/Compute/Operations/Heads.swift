/// Parts of a matrix's rows, for instance one for each attention head: `count` heads of `width` columns.
package struct Heads {
    fileprivate let matrix: Matrix
    fileprivate let count: Int
    fileprivate let width: Int
    /// Columns between the starts of consecutive heads; 0: all are the same.
    fileprivate let stride: Int
}

extension Matrix {
    /// - Parameters:
    ///   - first: Column at which the first head starts.
    ///   - stride: Columns between the starts of consecutive heads; `nil`: they are adjacent.
    package func heads(_ count: Int, width: Int, from first: Int = 0, stride: Int? = nil) -> Heads {
        let stride = stride ?? width
        return Heads(
            matrix: self[columns: first, count: (count - 1) * stride + width], count: count, width: width,
            stride: stride)
    }
}

extension Compute {
    /// Copies each head to the head of the same index.
    package func copy(_ input: Heads, into output: Heads) {
        assert(input.count == output.count && input.width == output.width, "heads differ in number or width")
        forEachRow(of: output.matrix) { row in
            let (x, y) = (input.matrix[row], output.matrix[row])
            for head in 0..<output.count {
                (y + head * output.stride).update(from: x + head * input.stride, count: output.width)
            }
        }
    }

    /// Repeats each of the first `count` heads of `width` columns, so that neighbours are equal and all columns are filled.
    package func repeatHeads(_ matrix: Matrix, count: Int, width: Int) {
        let heads = matrix.columns / width
        let members = heads / count
        guard members > 1 else { return }
        forEachRow(of: matrix) { row in
            let x = matrix[row]
            // Descending: each head is read before it is overwritten.
            for head in stride(from: heads - 1, through: 0, by: -1) {
                (x + head * width).update(from: x + head / members * width, count: width)
            }
        }
    }

    /// Adds the input, times a factor for each of `factors.count` heads.
    package func add(_ input: Matrix, timesHeads factors: [Float], to output: Matrix) {
        let width = input.columns / factors.count
        factors.withUnsafeBufferPointer { factors in
            forEachRow(of: input) { row in
                let (x, y) = (input[row], output[row])
                for head in 0..<factors.count {
                    kernels.rows.addMultiple(y + head * width, x + head * width, factors[head], width)
                }
            }
        }
    }

    /// Applies rotary embedding to each head of each row.
    package func rotate(_ matrix: Matrix, headWidth: Int, by angles: RotaryAngles) {
        let turn = angles.layout == .adjacent ? kernels.rows.rotateAdjacent : kernels.rows.rotateHalves
        // Parts of a head that are rotated separately.
        let parts = angles.layout == .halvesOfHalves ? 2 : 1
        let pairs = angles.cosines.columns / parts
        timed(ProfiledPart(name: "rotary embedding")) {
            forEachRow(of: matrix) { row in
                for head in stride(from: 0, to: matrix.columns, by: headWidth) {
                    for part in 0..<parts {
                        turn(
                            matrix[row] + head + part * headWidth / parts, angles.cosines[row] + part * pairs,
                            angles.sines[row] + part * pairs, pairs)
                    }
                }
            }
        }
    }
}
