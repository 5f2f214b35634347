package import GGUF
package import KernelFormats
import KernelsPortable
import Platform
import Synchronization

/// Weights repacked for the integer kernels, in groups of 16 rows; see `PackedLayout`.
package struct PackedWeights: Sendable {
    let layout: PackedLayout
    let columns: Int
    fileprivate var location: RepackedWeights.Location
    /// Where the trailing part of split weights is; see `PackedLayout.leadingQ8_0`.
    fileprivate var trailingLocation: RepackedWeights.Location?

    /// The blocks of rows `16 * index ..< 16 * index + 16`.
    func group(_ index: Int) -> UnsafeRawPointer { location.base + index * groupBytes }

    /// Their trailing parts; `nil`: the weights are not split.
    func trailing(_ index: Int) -> UnsafeRawPointer? { trailingLocation.map { $0.base + index * trailingBytes } }

    /// The blocks of `columns`, which begin and end with a block, of a group, and their trailing parts.
    func blocks(
        _ columns: Range<Int>, ofGroup index: Int
    ) -> (base: UnsafeRawPointer, trailing: UnsafeRawPointer?, count: Int) {
        let first = columns.lowerBound / layout.type.blockValues
        return (
            group(index) + first * layout.blockBytes,
            trailing(index).map { $0 + first * PackedLayout.trailingBytes }, columns.count / layout.type.blockValues
        )
    }

    var isSplit: Bool { trailingLocation != nil }

    private var groupBytes: Int { layout.bytes(rows: PackedLayout.rows, columns: columns) }
    private var trailingBytes: Int { columns / PackedLayout.columns * PackedLayout.trailingBytes }

    /// Bytes of `rows` rows, all parts.
    func bytes(rows: Int) -> Int {
        rows / PackedLayout.rows * (groupBytes + (isSplit ? trailingBytes : 0))
    }

    fileprivate mutating func drop(groups count: Int) {
        if let trailing = trailing(count) { trailingLocation?.base = trailing }
        location.base = group(count)
    }
}

/// F32, F16 or BF16 weights in groups of 16 rows; see `PackedFloats`.
package struct PackedFloatWeights: Sendable {
    let type: TensorType
    let columns: Int
    fileprivate var location: RepackedWeights.Location

    func group(_ index: Int) -> UnsafeRawPointer { location.base + index * groupBytes }

    var groupBytes: Int { PackedFloats.rows * columns * type.blockBytes }
}

/// How a tensor is repacked.
package enum RepackedLayout: Sendable {
    case integers(PackedLayout)
    case floats(TensorType)

    /// `nil` for a format that is not repacked.
    init?(_ type: TensorType) {
        if let layout = PackedLayout(type) {
            self = .integers(layout)
        } else if PackedFloats.types.contains(type) {
            self = .floats(type)
        } else {
            return nil
        }
    }

    /// Bytes of `rows` rows, a multiple of 16, of `columns` weights, a multiple of the block.
    package func bytes(rows: Int, columns: Int) -> Int {
        switch self {
        case .integers(let layout): layout.bytes(rows: rows, columns: columns)
        case .floats(let type): rows * columns * type.blockBytes
        }
    }

    /// Repacks 16 rows of `columns` weights, `rowBytes` apart.
    func pack(
        _ rows: UnsafeRawPointer, rowBytes: Int, columns: Int, into destination: UnsafeMutableRawPointer
    ) {
        switch self {
        case .integers(let layout):
            KernelsPortable.pack(layout, rows, rowBytes: rowBytes, columns: columns, into: destination)
        case .floats(let type):
            KernelsPortable.packFloats(type, rows, rowBytes: rowBytes, columns: columns, into: destination)
        }
    }

    /// The weights that begin at byte `offset` of the memory.
    func weights(columns: Int, in memory: RepackedWeights.Memory, offset: Int) -> RepackedWeights {
        let location = RepackedWeights.Location(memory, offset: offset)
        switch self {
        case .integers(let layout):
            return .integers(PackedWeights(layout: layout, columns: columns, location: location))
        case .floats(let type): return .floats(PackedFloatWeights(type: type, columns: columns, location: location))
        }
    }
}

/// A weight matrix in the layout of the tier's kernels.
package enum RepackedWeights: Sendable {
    case integers(PackedWeights)
    case floats(PackedFloatWeights)

    /// The rows from `row` on, a multiple of 16; shares the memory.
    package func suffix(fromRow row: Int) -> RepackedWeights {
        switch self {
        case .integers(var weights):
            weights.drop(groups: row / PackedLayout.rows)
            return .integers(weights)
        case .floats(var weights):
            weights.location.base = weights.group(row / PackedFloats.rows)
            return .floats(weights)
        }
    }

    /// Where weights begin, in memory that others may share.
    ///
    /// `@unchecked Sendable`: not written while it is used, after `WeightPacker` or `ExpertCache` has filled it.
    package struct Location: @unchecked Sendable {
        private let memory: Memory
        fileprivate(set) var base: UnsafeRawPointer

        init(_ memory: Memory, offset: Int) {
            self.memory = memory
            base = UnsafeRawPointer(memory.base + offset)
        }
    }

    /// Begins at a multiple of 2 MiB, as pages of that size do.
    final class Memory {
        let base: UnsafeMutableRawPointer
        /// At least the number asked for.
        private(set) var byteCount: Int

        static let hugePageBytes = 2 << 20

        /// - Parameter byteCount: At least 1.
        init?(byteCount: Int) {
            // More than needed, to cut off what is before the first multiple of 2 MiB and what is left behind the end.
            let mapped = byteCount + Self.hugePageBytes
            guard let start = mmap(nil, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                start != MAP_FAILED
            else { return nil }
            base = start.alignedUp(toMultipleOf: Self.hugePageBytes)
            if base > start { munmap(start, base - start) }
            self.byteCount = mapped - (base - start)
            cut(to: byteCount)
            // Decoding reads all of it sequentially.
            preferHugePages(base, bytes: self.byteCount)
        }

        deinit { munmap(base, byteCount) }

        /// Gives the pages behind the first `bytes` bytes, at least 1, back to the system.
        func cut(to bytes: Int) {
            let pageBytes = Int(getpagesize())
            let kept = (bytes + pageBytes - 1) / pageBytes * pageBytes
            guard kept < byteCount else { return }
            munmap(base + kept, byteCount - kept)
            byteCount = kept
        }
    }
}

/// Allocates memory for repacked matrices, one behind the other in large blocks.
///
/// If each matrix had memory of its own, its end would be in pages of 4 KiB, which are read more slowly; and all of it, if it
/// is smaller than 2 MiB.
final class PackingMemory {
    private var block: RepackedWeights.Memory?
    /// Bytes of `block` that matrices have.
    private var used = 0

    /// Least size of a block. Bytes that no matrix has got yet are not touched, and take no memory.
    static let blockBytes = 64 << 20

    deinit { block?.cut(to: used) }

    /// Room for a matrix, at a cache line; `nil` if the system does not give it.
    ///
    /// - Parameter bytes: At least 1.
    func allocate(bytes: Int) -> (memory: RepackedWeights.Memory, offset: Int)? {
        let offset = (used + 63) & ~63
        if let block, offset + bytes <= block.byteCount {
            used = offset + bytes
            return (block, offset)
        }
        guard let next = RepackedWeights.Memory(byteCount: max(bytes, Self.blockBytes)) else { return nil }
        block?.cut(to: used)
        (block, used) = (next, bytes)
        return (next, 0)
    }
}

/// Repacks weights while a model is loaded.
package struct WeightPacker {
    let pool: ThreadPool
    let formats: Set<TensorType>
    /// Keeps some of the experts, instead of repacking all of them; `nil`: all experts stay in memory.
    package var experts: ExpertCache?
    /// Called with the bytes of a tensor that are done; returns whether to continue.
    let progress: (TensorView, Int) -> Bool
    /// Called with a tensor that contains a scale that is not finite.
    let refuse: (TensorView) -> Void
    private let memory = PackingMemory()
    /// Whether the tier can bound results by the leading part of split weights.
    let splits: Bool

    package init(
        pool: ThreadPool, kernels: KernelSet, experts: ExpertCache? = nil,
        progress: @escaping (TensorView, Int) -> Bool, refuse: @escaping (TensorView) -> Void
    ) {
        self.pool = pool
        formats = kernels.packedFormats
        splits = kernels.schemes.contains { $0.boundsSplitWeights }
        self.experts = experts
        self.progress = progress
        self.refuse = refuse
    }

    /// How a tensor is repacked; `nil` if it stays as it is, because of its format or shape.
    ///
    /// Rows behind the last whole group of a matrix are not repacked, but read from the tensor. The matrices of a
    /// three-dimensional tensor must have none, since a group would begin in one matrix and end in another.
    package static func layout(_ tensor: TensorView, _ formats: Set<TensorType>) -> RepackedLayout? {
        let rows = tensor.shape.dropFirst().first ?? 1
        guard formats.contains(tensor.type), rows >= PackedLayout.rows,
            rows % PackedLayout.rows == 0 || rows == tensor.count / tensor.shape[0]
        else { return nil }
        return RepackedLayout(tensor.type)
    }

    /// Repacks a matrix and releases the file's pages; `nil` if it stays as it is.
    ///
    /// The matrices of a three-dimensional tensor are concatenated, each in groups of its own.
    package func pack(_ tensor: TensorView) -> RepackedWeights? {
        let columns = tensor.shape[0]
        guard let layout = Self.layout(tensor, formats) else { return nil }
        let packedBytes = layout.bytes(rows: PackedLayout.rows, columns: columns)
        return pack(tensor, groupBytes: packedBytes) { rows, group, memory in
            layout.pack(rows, rowBytes: tensor.rowBytes, columns: columns, into: memory + group * packedBytes)
        } weights: {
            layout.weights(columns: columns, in: $0, offset: $1)
        }
    }

    /// The same for a matrix of which mostly the rows with the largest results are wanted, as of logits. Q8_0 is split into a
    /// leading and a trailing part, see `PackedLayout.leadingQ8_0`, if the matrix is large.
    package func packHead(_ tensor: TensorView) -> RepackedWeights? {
        let (columns, rows) = (tensor.shape[0], tensor.count / tensor.shape[0])
        guard splits, tensor.type == .Q8_0, formats.contains(.Q8_0), rows % PackedLayout.rows == 0,
            rows >= Self.leastSplitRows, !hasNegativeScales(tensor)
        else { return pack(tensor) }
        let layout = PackedLayout.leadingQ8_0
        let leadingBytes = layout.bytes(rows: PackedLayout.rows, columns: columns)
        let trailingBytes = columns / PackedLayout.columns * PackedLayout.trailingBytes
        let trailingOffset = (leadingBytes * (rows / PackedLayout.rows) + 63) & ~63
        return pack(tensor, groupBytes: leadingBytes + trailingBytes, surplus: 64) { source, group, memory in
            packSplit(
                source, rowBytes: tensor.rowBytes, columns: columns, into: memory + group * leadingBytes,
                trailing: memory + trailingOffset + group * trailingBytes)
        } weights: {
            .integers(
                PackedWeights(
                    layout: layout, columns: columns, location: .init($0, offset: $1),
                    trailingLocation: .init($0, offset: $1 + trailingOffset)))
        }
    }

    /// Whether a block of Q8_0 has a negative scale, which would make its largest result its smallest. Quantizers write none.
    private func hasNegativeScales(_ tensor: TensorView) -> Bool {
        let signs = Atomic<UInt8>(0)
        forEachGroup(of: tensor) { _, rows in
            var high: UInt8 = 0
            for block in 0..<PackedLayout.rows * tensor.rowBytes / tensor.type.blockBytes {
                high |= rows.load(fromByteOffset: block &* tensor.type.blockBytes &+ 1, as: UInt8.self)
            }
            signs.bitwiseOr(high, ordering: .relaxed)
        }
        return signs.load(ordering: .relaxed) & 0x80 != 0
    }

    /// Of fewer rows all results are computed as fast as the largest ones are found.
    private static let leastSplitRows = 1 << 14

    /// - Parameters:
    ///   - groupBytes: Bytes of a group of 16 packed rows.
    ///   - surplus: Further bytes of the matrix.
    ///   - packGroup: Packs the rows at its first argument, group number `group`, into memory that begins at the last.
    private func pack(
        _ tensor: TensorView, groupBytes packedBytes: Int, surplus: Int = 0,
        _ packGroup: (UnsafeRawPointer, _ group: Int, UnsafeMutableRawPointer) -> Void,
        weights: (RepackedWeights.Memory, _ offset: Int) -> RepackedWeights
    ) -> RepackedWeights? {
        let groups = tensor.count / tensor.shape[0] / PackedLayout.rows
        guard progress(tensor, 0), let (memory, offset) = memory.allocate(bytes: groups * packedBytes + surplus)
        else { return nil }
        tensor.file.prefetch(tensor.range)
        let source = tensor.bytes.baseAddress!
        let groupBytes = PackedLayout.rows * tensor.rowBytes
        let isFinite = Atomic(true)
        func check(_ rows: UnsafeRawPointer, bytes: Int) {
            if firstNonFiniteBlock(tensor.type, rows, count: bytes / tensor.type.blockBytes) != nil {
                isFinite.store(false, ordering: .relaxed)
            }
        }
        forEachGroup(of: tensor) { group, rows in
            packGroup(rows, group, memory.base + offset)
            // The group is in the processor's cache now, so this check costs no memory access.
            check(rows, bytes: groupBytes)
        }
        check(source + groups * groupBytes, bytes: tensor.byteCount - groups * groupBytes)
        if !isFinite.load(ordering: .relaxed) { refuse(tensor) }
        // Computed bytes would be computed again for the rows that are not repacked.
        if tensor.file.isFile || groups * groupBytes == tensor.byteCount { tensor.file.giveBack(tensor.range) }
        return progress(tensor, tensor.byteCount) ? weights(memory, offset) : nil
    }

    /// Bytes of a file that are read before they are released. Released only behind its end, a large matrix would be in memory
    /// twice.
    private static let bytesAtOnce = 16 << 20

    /// Calls `body` with the number of each whole group of 16 rows, and with the group, and releases the file's pages behind it.
    private func forEachGroup(of tensor: TensorView, _ body: (_ group: Int, _ rows: UnsafeRawPointer) -> Void) {
        let groups = tensor.count / tensor.shape[0] / PackedLayout.rows
        let groupBytes = PackedLayout.rows * tensor.rowBytes
        guard groups > 0, let source = tensor.bytes.baseAddress else { return }
        let atOnce = tensor.file.isFile ? max(1, Self.bytesAtOnce / groupBytes) : groups
        for first in stride(from: 0, to: groups, by: atOnce) {
            let count = min(atOnce, groups - first)
            pool.forEach(count) { index, _ in body(first + index, source + (first + index) * groupBytes) }
            let start = tensor.range.lowerBound + first * groupBytes
            if tensor.file.isFile { tensor.file.giveBack(start..<start + count * groupBytes) }
        }
    }
}
