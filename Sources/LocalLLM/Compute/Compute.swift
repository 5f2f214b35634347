import COpenBLAS
import KernelFormats
import KernelsPortable

/// The operations that architectures are written in, shared out over the engine's threads.
///
/// Used by the engine's thread only. Nothing here allocates once the scratch has reached its size.
final class Compute {
    let kernels: KernelSet
    let pool: ThreadPool
    private var scratch: [AlignedBuffer]

    init(kernels: KernelSet, threads: Int) {
        self.kernels = kernels
        pool = ThreadPool(count: threads)
        scratch = (0..<pool.count).map { _ in AlignedBuffer(byteCount: 0) }
        // Each of our threads multiplies a part of its own; OpenBLAS's threads would only compete with them.
        openblas_set_num_threads(1)
    }

    /// Memory of one worker, reused by every operation; at least `floats` long. Grown outside parallel regions only.
    func reserveScratch(floats: Int) {
        for index in scratch.indices where scratch[index].byteCount < floats * 4 {
            scratch[index] = AlignedBuffer(floats: floats)
        }
    }

    func scratchOfWorker(_ worker: Int) -> UnsafeMutablePointer<Float> { scratch[worker].floats }

    // MARK: Rows

    /// Row `i` of `output` becomes row `rows[i]` of the table.
    func embed(_ table: WeightMatrix, rows: [Int32], into output: Matrix) {
        for (index, row) in rows.enumerated() {
            dequantize(table.type, table.row(Int(row)), into: output[index], count: table.columns)
        }
    }

    func rmsNorm(_ input: Matrix, _ weight: [Float], epsilon: Float, into output: Matrix) {
        weight.withUnsafeBufferPointer { weight in
            forEachRow(of: input) { row in
                kernels.rmsNorm(input[row], weight.baseAddress!, epsilon, output[row], input.columns)
            }
        }
    }

    /// Normalizes each head's part of each row by itself, in place.
    func rmsNormPerHead(_ matrix: Matrix, _ weight: [Float], epsilon: Float) {
        weight.withUnsafeBufferPointer { weight in
            forEachRow(of: matrix) { row in
                for head in stride(from: 0, to: matrix.columns, by: weight.count) {
                    let values = matrix[row] + head
                    kernels.rmsNorm(values, weight.baseAddress!, epsilon, values, weight.count)
                }
            }
        }
    }

    /// Turns each head of each row by the row's position.
    func rotate(_ matrix: Matrix, headWidth: Int, by angles: RotaryAngles) {
        let turn = angles.layout == .adjacent ? rotateAdjacent : rotateHalves
        forEachRow(of: matrix) { row in
            for head in stride(from: 0, to: matrix.columns, by: headWidth) {
                turn(matrix[row] + head, angles.cosines[row], angles.sines[row], angles.cosines.columns)
            }
        }
    }

    /// `output = silu(gate) · up`.
    func swiGLU(_ gate: Matrix, _ up: Matrix, into output: Matrix) {
        forEachRow(of: gate) { row in kernels.swiGLU(gate[row], up[row], output[row], gate.columns) }
    }

    func add(_ input: Matrix, to output: Matrix) {
        forEachRow(of: input) { row in KernelsPortable.add(output[row], input[row], count: input.columns) }
    }

    private func forEachRow(of matrix: Matrix, _ body: (Int) -> Void) {
        // A row or two is done before another thread has woken up.
        if matrix.rows <= 2 {
            for row in 0..<matrix.rows { body(row) }
        } else {
            pool.forEach(matrix.rows) { row, _ in body(row) }
        }
    }

    // MARK: Matrix products

    /// `outputs[i] = input · layers[i]ᵀ`, all in one parallel region.
    func multiply(_ input: Matrix, by layers: [Linear], into outputs: [Matrix]) {
        let isPrompt = input.rows > Self.dotRows
        let blockRows =
            isPrompt ? Self.panelRows : max(Self.dotBlockRows, Self.pieceProducts / (input.rows * input.columns))
        reserveScratch(floats: input.columns * (isPrompt ? blockRows : 1))
        // Pieces of all layers, numbered through.
        let counts = layers.map { ($0.weights.rows + blockRows - 1) / blockRows }
        pool.forEach(counts.reduce(0, +)) { piece, worker in
            var layer = 0
            var block = piece
            while block >= counts[layer] {
                block -= counts[layer]
                layer += 1
            }
            let rows = block * blockRows..<min((block + 1) * blockRows, layers[layer].weights.rows)
            let scratch = scratch[worker].floats
            if isPrompt {
                Self.multiplyPanel(input, layers[layer].weights, rows, into: outputs[layer], scratch)
            } else {
                Self.multiplyRows(input, layers[layer].weights, rows, into: outputs[layer], scratch)
            }
            layers[layer].finish(outputs[layer], rows)
        }
    }

    func multiply(_ input: Matrix, by layer: Linear, into output: Matrix) {
        multiply(input, by: [layer], into: [output])
    }

    /// Up to this many input rows, a dequantized weight row is multiplied by each; beyond, a panel of them by OpenBLAS.
    private static let dotRows = 4
    private static let dotBlockRows = 16
    /// Fewer products than this are not worth handing to another thread: some 10 µs of work.
    private static let pieceProducts = 1 << 16
    /// Weight rows dequantized at once: enough for sgemm's inner blocking, and of 4096 columns still only 1 MiB.
    private static let panelRows = 64

    private static func multiplyRows(
        _ input: Matrix, _ weights: WeightMatrix, _ rows: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>
    ) {
        for column in rows {
            dequantize(weights.type, weights.row(column), into: scratch, count: weights.columns)
            for row in 0..<input.rows { output[row][column] = dot(scratch, input[row], count: weights.columns) }
        }
    }

    private static func multiplyPanel(
        _ input: Matrix, _ weights: WeightMatrix, _ rows: Range<Int>, into output: Matrix,
        _ scratch: UnsafeMutablePointer<Float>
    ) {
        let columns = weights.columns
        for (index, row) in rows.enumerated() {
            dequantize(weights.type, weights.row(row), into: scratch + index * columns, count: columns)
        }
        cblas_sgemm(
            CblasRowMajor, CblasNoTrans, CblasTrans, Int32(input.rows), Int32(rows.count), Int32(columns), 1,
            input.base, Int32(input.stride), scratch, Int32(columns), 0, output.base + rows.lowerBound,
            Int32(output.stride))
    }
}
