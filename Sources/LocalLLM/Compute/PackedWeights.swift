import KernelFormats
import KernelsPortable
import Platform
import Synchronization

/// A weight matrix repacked for the integer kernels, in groups of 16 rows; see `PackedLayout`.
///
/// `@unchecked Sendable`: not written after `WeightPacker` has created it.
struct PackedWeights: @unchecked Sendable {
    let layout: PackedLayout
    let columns: Int
    private let memory: Memory
    /// The blocks of the first group.
    private let base: UnsafeMutableRawPointer

    /// - Returns: `nil` if the memory cannot be allocated.
    fileprivate init?(_ layout: PackedLayout, rows: Int, columns: Int) {
        self.layout = layout
        self.columns = columns
        guard let memory = Memory(byteCount: layout.bytes(rows: rows, columns: columns)) else { return nil }
        self.memory = memory
        base = memory.base
    }

    /// Weights in memory that others share, from byte `offset` on.
    init(_ layout: PackedLayout, columns: Int, in memory: Memory, offset: Int) {
        self.layout = layout
        self.columns = columns
        self.memory = memory
        base = memory.base + offset
    }

    private init(_ whole: PackedWeights, firstGroup: Int) {
        layout = whole.layout
        columns = whole.columns
        memory = whole.memory
        base = whole.target(ofGroup: firstGroup)
    }

    /// The rows from `row` on, a multiple of 16; shares the memory.
    func suffix(fromRow row: Int) -> PackedWeights { PackedWeights(self, firstGroup: row / PackedLayout.rows) }

    /// The blocks of rows `16 * index ..< 16 * index + 16`.
    func group(_ index: Int) -> UnsafeRawPointer { UnsafeRawPointer(target(ofGroup: index)) }

    fileprivate func target(ofGroup index: Int) -> UnsafeMutableRawPointer {
        base + index * (columns / layout.type.blockValues) * layout.blockBytes
    }

    final class Memory {
        let base: UnsafeMutableRawPointer
        private let byteCount: Int

        init?(byteCount: Int) {
            guard let base = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                base != MAP_FAILED
            else { return nil }
            // Decoding reads all of it sequentially.
            preferHugePages(base, bytes: byteCount)
            self.base = base
            self.byteCount = byteCount
        }

        deinit { munmap(base, byteCount) }
    }
}

/// Repacks weights while a model is loaded.
struct WeightPacker {
    let pool: ThreadPool
    let formats: Set<TensorType>
    /// Keeps some of the experts, instead of repacking all of them; `nil`: all experts stay in memory.
    var experts: ExpertCache?
    /// Called with the bytes of a tensor that are done; returns whether to continue.
    let progress: (TensorView, Int) -> Bool
    /// Called with a tensor that contains a scale that is not finite.
    let refuse: (TensorView) -> Void

    /// The packed layout of a tensor; `nil` if its format or shape has none.
    static func layout(_ tensor: TensorView, _ formats: Set<TensorType>) -> PackedLayout? {
        guard formats.contains(tensor.type), (tensor.shape.dropFirst().first ?? 1) % PackedLayout.rows == 0 else {
            return nil
        }
        return PackedLayout(tensor.type)
    }

    /// Repacks a matrix and releases the file's pages; `nil` if its format or shape has no packed layout.
    ///
    /// The matrices of a three-dimensional tensor are concatenated, each in groups of its own.
    func pack(_ tensor: TensorView) -> PackedWeights? {
        let columns = tensor.shape[0]
        let rows = tensor.count / columns
        guard let layout = Self.layout(tensor, formats), progress(tensor, 0),
            let packed = PackedWeights(layout, rows: rows, columns: columns)
        else { return nil }
        tensor.file.prefetch(tensor.range)
        let (source, rowBytes) = (tensor.bytes.baseAddress!, tensor.rowBytes)
        let groupBytes = PackedLayout.rows * rowBytes
        let isFinite = Atomic(true)
        pool.forEach(rows / PackedLayout.rows) { group, _ in
            let rows = source + group * groupBytes
            KernelsPortable.pack(
                layout, rows, rowBytes: rowBytes, columns: columns, into: packed.target(ofGroup: group))
            // The group is in the processor's cache now, so this check costs no memory access.
            if firstNonFiniteBlock(tensor.type, rows, count: groupBytes / tensor.type.blockBytes) != nil {
                isFinite.store(false, ordering: .relaxed)
            }
        }
        if !isFinite.load(ordering: .relaxed) { refuse(tensor) }
        tensor.file.giveBack(tensor.range)
        return progress(tensor, tensor.byteCount) ? packed : nil
    }
}
