import Glibc
import KernelFormats
import KernelsPortable

/// A matrix of weights repacked for the integer kernels, in memory of its own: groups of 16 rows, see `PackedLayout`.
///
/// `@unchecked Sendable`: nothing is written after `WeightPacker` has made it.
final class PackedWeights: @unchecked Sendable {
    let layout: PackedLayout
    let columns: Int
    private let memory: UnsafeMutableRawPointer
    private let byteCount: Int

    /// - Returns: `nil` if the system has no memory for it.
    fileprivate init?(_ layout: PackedLayout, rows: Int, columns: Int) {
        self.layout = layout
        self.columns = columns
        byteCount = rows / PackedLayout.rows * (columns / layout.type.blockValues) * layout.blockBytes
        guard let memory = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            memory != MAP_FAILED
        else { return nil }
        self.memory = memory
        // Decoding walks through all of it: with pages of 2 MiB, without a page table in the way.
        madvise(memory, byteCount, MADV_HUGEPAGE)
    }

    deinit { munmap(memory, byteCount) }

    /// The blocks of rows `16 * index ..< 16 * index + 16`.
    func group(_ index: Int) -> UnsafeRawPointer { UnsafeRawPointer(target(ofGroup: index)) }

    fileprivate func target(ofGroup index: Int) -> UnsafeMutableRawPointer {
        memory + index * (columns / layout.type.blockValues) * layout.blockBytes
    }
}

/// Repacks weights while a model is loaded.
struct WeightPacker {
    let pool: ThreadPool
    let formats: Set<TensorType>
    /// Called with the bytes of a tensor that are done; returns whether to go on.
    let progress: (TensorView, Int) -> Bool

    /// The matrix repacked, and the file's own pages given back; `nil` if its format or shape has no packed layout.
    func pack(_ tensor: TensorView) -> PackedWeights? {
        let columns = tensor.shape[0]
        let rows = tensor.count / columns
        guard formats.contains(tensor.type), rows % PackedLayout.rows == 0, progress(tensor, 0),
            let layout = PackedLayout(tensor.type), let packed = PackedWeights(layout, rows: rows, columns: columns)
        else { return nil }
        tensor.file.prefetch(tensor.range)
        let (source, rowBytes) = (tensor.bytes.baseAddress!, tensor.rowBytes)
        pool.forEach(rows / PackedLayout.rows) { group, _ in
            KernelsPortable.pack(
                layout, source + group * PackedLayout.rows * rowBytes, rowBytes: rowBytes, columns: columns,
                into: packed.target(ofGroup: group))
        }
        tensor.file.giveBack(tensor.range)
        return progress(tensor, tensor.bytes.count) ? packed : nil
    }
}
