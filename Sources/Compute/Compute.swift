import GGUF
import Platform

/// The operations that architectures are written in, distributed over the engine's threads.
///
/// Used by the engine's thread only. Nothing here allocates once the scratch has reached its size.
package final class Compute {
    package let kernels: KernelSet
    package let pool: ThreadPool
    private var scratch: [AlignedBuffer]
    /// The inputs of products in the layouts of their schemes.
    private var activations = AlignedBuffer(byteCount: 0)
    /// The products scale · A·x of adapters.
    private var inner = AlignedBuffer(byteCount: 0)
    /// The last products, kept to reuse their memory.
    var products: ProductList
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
        products = ProductList(schemes: kernels.schemes, threads: pool.count)
    }

    /// Grows each worker's scratch, which all operations share. Must not be called in a parallel region.
    func reserveScratch(floats: Int) {
        for index in scratch.indices where scratch[index].byteCount < floats * 4 {
            scratch[index] = AlignedBuffer(floats: floats)
        }
    }

    /// Buffer of at least `bytes` bytes with undefined contents.
    func memoryOfActivations(bytes: Int) -> UnsafeMutableRawPointer {
        if activations.byteCount < bytes { activations = AlignedBuffer(byteCount: bytes) }
        return activations.base
    }

    /// Buffer of at least `floats` floats with undefined contents.
    func innerValues(floats: Int) -> UnsafeMutablePointer<Float> {
        if inner.byteCount < floats * 4 { inner = AlignedBuffer(floats: floats) }
        return inner.floats
    }

    func scratchOfWorker(_ worker: Int) -> UnsafeMutablePointer<Float> { scratch[worker].floats }

    /// Runs an operation, whose time becomes part of the profile if one is taken.
    func timed(_ part: @autoclosure () -> ProfiledPart, _ operation: () -> Void) {
        guard let profile else { return operation() }
        let started = ContinuousClock.now
        operation()
        profile.add(part(), since: started)
    }

    func forEachRow(of matrix: Matrix, _ body: (Int) -> Void) {
        // One or two rows, or few values, are done before another thread has woken up.
        let isSmall = matrix.rows <= 2 || matrix.rows * matrix.columns <= 1 << 12
        forEachItem(matrix.rows, serially: isSmall) { row, _ in body(row) }
    }

    func forEachItem(_ count: Int, serially: Bool, _ body: (_ item: Int, _ worker: Int) -> Void) {
        if serially {
            for item in 0..<count { body(item, 0) }
        } else {
            pool.forEach(count, body)
        }
    }
}
