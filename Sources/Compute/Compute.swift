import GGUF
import COpenBLAS
package import KernelFormats
import Platform

/// The operations that architectures are written in, distributed over the engine's threads.
///
/// Used by the engine's thread only. Nothing here allocates once the scratch has reached its size.
package final class Compute {
    package let kernels: KernelSet
    package let pool: ThreadPool
    private var scratch: [AlignedBuffer]
    /// Activations laid out for matrix products: as floats, and quantized.
    private var packed = AlignedBuffer(byteCount: 0)
    private var rounded = AlignedBuffer(byteCount: 0)
    /// The products scale · A·x of adapters.
    private var inner = AlignedBuffer(byteCount: 0)
    /// The last products, kept to reuse their memory.
    var products = ProductList()
    var bestSearch = BestSearch()
    /// Bytes of output heads that did not have to be read, of all steps so far.
    package var unreadBytes: Int { bestSearch.unreadBytes }
    /// Called with the weights and the input of each product, to collect statistics.
    package var observer: ((WeightMatrix, Matrix) -> Void)?
    /// Collects the times of the operations; set by `LocalModel.profile`.
    package var profile: StepProfile?
    /// Adapters of the current step.
    package var adapters: [AdapterRows] = []

    package init(kernels: KernelSet, threads: Int) {
        self.kernels = kernels
        pool = ThreadPool(count: threads)
        scratch = (0..<pool.count).map { _ in AlignedBuffer(byteCount: 0) }
        products.wideThreads = kernels.wideProducts.map { _ in pool.count }
        // Our threads call OpenBLAS in parallel; its own threads would only compete with them.
        openblas_set_num_threads(1)
    }

    /// Grows each worker's scratch, which all operations share. Must not be called in a parallel region.
    package func reserveScratch(floats: Int) {
        for index in scratch.indices where scratch[index].byteCount < floats * 4 {
            scratch[index] = AlignedBuffer(floats: floats)
        }
    }

    /// Buffer of at least `floats` floats with undefined contents.
    func packedActivations(floats: Int) -> UnsafeMutablePointer<Float> {
        if packed.byteCount < floats * 4 { packed = AlignedBuffer(floats: floats) }
        return packed.floats
    }

    /// Buffer of at least `bytes` bytes with undefined contents.
    func roundedActivations(bytes: Int) -> UnsafeMutableRawPointer {
        if rounded.byteCount < bytes { rounded = AlignedBuffer(byteCount: bytes) }
        return rounded.base
    }

    /// Buffer of at least `floats` floats with undefined contents.
    func innerValues(floats: Int) -> UnsafeMutablePointer<Float> {
        if inner.byteCount < floats * 4 { inner = AlignedBuffer(floats: floats) }
        return inner.floats
    }

    package func scratchOfWorker(_ worker: Int) -> UnsafeMutablePointer<Float> { scratch[worker].floats }

    /// Runs an operation, whose time becomes part of the profile if one is taken.
    package func timed(_ part: @autoclosure () -> ProfiledPart, _ operation: () -> Void) {
        guard let profile else { return operation() }
        let started = ContinuousClock.now
        operation()
        profile.add(part(), since: started)
    }

    // MARK: Rows

    /// Copies row `rows[i]` of the table, dequantized, to row `i` of `output`.
    package func embed(_ table: WeightMatrix, rows: [Int32], into output: Matrix) {
        timed(ProfiledPart(name: "embedding", bytes: Double(rows.count * table.tensor.rowBytes))) {
            for (index, row) in rows.enumerated() {
                kernels.dequantize(table.type, table.row(Int(row)), output[index], table.columns)
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

    /// `output = activation(gate) · up`.
    ///
    /// - Parameter output: May be `gate` or `up`.
    package func activate(_ gate: Matrix, _ up: Matrix, _ activation: Activation, into output: Matrix) {
        timed(ProfiledPart(name: "activation")) {
            forEachRow(of: gate) { row in kernels.gate(gate[row], up[row], activation, output[row], gate.columns) }
        }
    }

    /// Applies the activation in place.
    package func activate(_ matrix: Matrix, _ activation: Activation) {
        timed(ProfiledPart(name: "activation")) {
            forEachRow(of: matrix) { row in kernels.activate(matrix[row], activation, matrix[row], matrix.columns) }
        }
    }

    /// `output += factor · input`.
    package func add(_ input: Matrix, times factor: Float = 1, to output: Matrix) {
        timed(ProfiledPart(name: "addition")) {
            forEachRow(of: input) { row in
                if factor == 1 {
                    kernels.rows.add(output[row], input[row], input.columns)
                } else {
                    kernels.rows.addMultiple(output[row], input[row], factor, input.columns)
                }
            }
        }
    }

    package func copy(_ input: Matrix, into output: Matrix) {
        forEachRow(of: input) { row in output[row].update(from: input[row], count: input.columns) }
    }

    package func clear(_ matrix: Matrix) {
        forEachRow(of: matrix) { row in matrix[row].update(repeating: 0, count: matrix.columns) }
    }

    /// Limits each value to ±`limit`.
    package func clamp(_ matrix: Matrix, to limit: Float) {
        forEachRow(of: matrix) { row in
            for column in 0..<matrix.columns { matrix[row][column] = min(limit, max(-limit, matrix[row][column])) }
        }
    }

    /// Multiplies by softplus(gates), ln(1 + eˣ). A gate applies to `matrix.columns / gates.columns` values.
    package func multiply(_ matrix: Matrix, bySoftplusOf gates: Matrix) {
        let width = matrix.columns / gates.columns
        forEachRow(of: matrix) { row in
            for index in 0..<gates.columns {
                let x = gates[row][index]
                let factor = x > 20 ? x : log1pf(expf(x))
                for column in index * width..<(index + 1) * width { matrix[row][column] *= factor }
            }
        }
    }

    /// Multiplies by sigmoid(gates), computed in place. A gate applies to `matrix.columns / gates.columns` values.
    package func multiply(_ matrix: Matrix, bySigmoidOf gates: Matrix) {
        let width = matrix.columns / gates.columns
        forEachRow(of: matrix) { row in
            kernels.recurrent.sigmoid(gates[row], gates[row], gates.columns)
            for index in 0..<gates.columns {
                let factor = gates[row][index]
                for column in index * width..<(index + 1) * width { matrix[row][column] *= factor }
            }
        }
    }

    package func scale(_ matrix: Matrix, by factor: Float) {
        forEachRow(of: matrix) { row in for column in 0..<matrix.columns { matrix[row][column] *= factor } }
    }

    /// Subtracts the threshold, the row's mean plus `deviations` standard deviations; negative results become 0.
    package func cut(_ matrix: Matrix, at deviations: Float) {
        forEachRow(of: matrix) { row in
            let (values, count) = (matrix[row], matrix.columns)
            var mean: Float = 0
            for index in 0..<count { mean += values[index] }
            mean /= Float(count)
            var squares: Float = 0
            for index in 0..<count { squares += (values[index] - mean) * (values[index] - mean) }
            let cutoff = mean + deviations * (squares / Float(count)).squareRoot()
            for index in 0..<count { values[index] = max(0, values[index] - cutoff) }
        }
    }

    /// Multiplies each row by its factor.
    package func scale(_ matrix: Matrix, by factor: (_ row: Int) -> Float) {
        forEachRow(of: matrix) { row in
            let factor = factor(row)
            for column in 0..<matrix.columns { matrix[row][column] *= factor }
        }
    }

    /// Multiplies each column by its factor.
    package func scale(_ matrix: Matrix, by factors: [Float]) {
        factors.withUnsafeBufferPointer { factors in
            forEachRow(of: matrix) { row in
                for column in 0..<matrix.columns { matrix[row][column] *= factors[column] }
            }
        }
    }

    /// Applies softcap: x becomes `limit · tanh(x / limit)`.
    package func softcap(_ matrix: Matrix, at limit: Float) {
        forEachRow(of: matrix) { row in
            kernels.rows.softcap(matrix[row], limit, matrix[row], matrix.columns)
        }
    }

    /// `output += factor · input` for one row.
    package func add(
        _ input: UnsafePointer<Float>, times factor: Float, to output: UnsafeMutablePointer<Float>, count: Int
    ) {
        kernels.rows.addMultiple(output, input, factor, count)
    }

    package func forEachRow(of matrix: Matrix, _ body: (Int) -> Void) {
        // One or two rows, or few values, are done before another thread has woken up.
        let isSmall = matrix.rows <= 2 || matrix.rows * matrix.columns <= 1 << 12
        forEachPiece(matrix.rows, serially: isSmall) { row, _ in body(row) }
    }

    package func forEachPiece(_ count: Int, serially: Bool, _ body: (_ piece: Int, _ worker: Int) -> Void) {
        if serially {
            for piece in 0..<count { body(piece, 0) }
        } else {
            pool.forEach(count, body)
        }
    }
}
