import COpenBLAS
import KernelsPortable

/// The operations that architectures are written in, shared out over the engine's threads.
///
/// Used by the engine's thread only. Nothing here allocates once the scratch has reached its size.
final class Compute {
    let kernels: KernelSet
    let pool: ThreadPool
    private var scratch: [AlignedBuffer]
    /// Activations laid out for a matrix product: as floats, and as whole numbers.
    private var packed = AlignedBuffer(byteCount: 0)
    private var rounded = AlignedBuffer(byteCount: 0)
    /// The last products, for their memory.
    var products = ProductList()

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

    /// At least `floats` floats, with whatever they held.
    func packedActivations(floats: Int) -> UnsafeMutablePointer<Float> {
        if packed.byteCount < floats * 4 { packed = AlignedBuffer(floats: floats) }
        return packed.floats
    }

    /// At least so many bytes, with whatever they held.
    func roundedActivations(bytes: Int) -> UnsafeMutableRawPointer {
        if rounded.byteCount < bytes { rounded = AlignedBuffer(byteCount: bytes) }
        return rounded.base
    }

    func scratchOfWorker(_ worker: Int) -> UnsafeMutablePointer<Float> { scratch[worker].floats }

    // MARK: Rows

    /// Row `i` of `output` becomes row `rows[i]` of the table.
    func embed(_ table: WeightMatrix, rows: [Int32], into output: Matrix) {
        for (index, row) in rows.enumerated() {
            kernels.dequantize(table.type, table.row(Int(row)), output[index], table.columns)
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

    /// `output += factor · input`, for one row.
    func add(
        _ input: UnsafePointer<Float>, times factor: Float, to output: UnsafeMutablePointer<Float>, count: Int
    ) {
        KernelsPortable.add(output, input, times: factor, count: count)
    }

    func forEachRow(of matrix: Matrix, _ body: (Int) -> Void) {
        // A row or two is done before another thread has woken up, and so are some short ones.
        let isSmall = matrix.rows <= 2 || matrix.rows * matrix.columns <= 1 << 12
        forEachPiece(matrix.rows, serially: isSmall) { row, _ in body(row) }
    }

    func forEachPiece(_ count: Int, serially: Bool, _ body: (_ piece: Int, _ worker: Int) -> Void) {
        if serially {
            for piece in 0..<count { body(piece, 0) }
        } else {
            pool.forEach(count, body)
        }
    }
}
