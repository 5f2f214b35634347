import Foundation
import KernelFormats
import KernelsPortable
import Platform
import Synchronization
import Tiers

/// Quantizes a model's tensors one after the other, on all cores.
///
/// Memory: a slab of rows in the target format, and two rows of floats per core.
package struct Quantizer {
    let file: GGUFFile
    /// `nil`: every tensor keeps its format.
    let mixture: Mixture?
    let plan: QuantizationPlan
    let importance: ImportanceMatrix?
    private let threads: Int

    /// Writes a model, given as a file or a folder, as one GGUF file; every tensor keeps its format.
    package static func copy(
        modelAt path: String, to output: String, progress: @escaping (Double) -> Void = { _ in }
    ) throws -> Summary {
        let quantizer = try Quantizer(unchanged: GGUFFile(path: path))
        try quantizer.write(to: output, progress: progress)
        return quantizer.summary
    }

    private init(unchanged file: GGUFFile) {
        self.file = file
        mixture = nil
        importance = nil
        threads = 1
        plan = QuantizationPlan(unchanged: file)
    }

    /// - Parameter overrides: The first that matches a tensor's name applies.
    /// - Throws: `ModelFileError`.
    package init(
        modelAt path: String, _ mixture: Mixture, overrides: [TypeOverride] = [], importance: ImportanceMatrix? = nil,
        threads: Int? = nil
    ) throws(ModelFileError) {
        try self.init(GGUFFile(path: path), mixture, overrides: overrides, importance: importance, threads: threads)
    }

    init(
        _ file: GGUFFile, _ mixture: Mixture, overrides: [TypeOverride] = [], importance: ImportanceMatrix? = nil,
        threads: Int? = nil
    ) throws(ModelFileError) {
        self.file = file
        self.mixture = mixture
        self.importance = importance
        self.threads = threads ?? ProcessorCount.usable()
        plan = try QuantizationPlan(
            file, mixture, overrides: overrides, hasImportance: importance != nil)
    }

    /// A summary of the result.
    package struct Summary: Sendable {
        package let sourceBytes: Int
        package let bytes: Int
        package let bitsPerWeight: Double
        /// Number of tensors by format.
        package let tensors: [String: Int]
        /// Tensors whose rows are not a multiple of their format's block, and which got another format.
        package let fallbacks: [String]
        /// Tensors that were already quantized: their errors add up.
        package let requantized: [String]
        /// Quantized matrices that the importance matrix does not cover.
        package let withoutImportance: [String]
    }

    package var summary: Summary {
        let count = file.tensors.reduce(0) { $0 + $1.count }
        let bytes = shapes.reduce(0) { $0 + $1.byteCount }
        let changed = zip(file.tensors, plan.types).filter { $0.type != $1 && $1.isQuantized }.map(\.0)
        return Summary(
            sourceBytes: file.tensors.reduce(0) { $0 + $1.byteCount }, bytes: bytes,
            bitsPerWeight: 8 * Double(bytes) / Double(max(1, count)),
            tensors: Dictionary(grouping: plan.types, by: \.name).mapValues(\.count), fallbacks: plan.fallbacks,
            requantized: changed.filter(\.type.isQuantized).map(\.name),
            withoutImportance: importance == nil
                ? [] : changed.filter { ((try? importance?.values(for: $0)) ?? nil) == nil }.map(\.name))
    }

    var shapes: [TensorShape] {
        zip(file.tensors, plan.types).map { TensorShape(name: $0.name, type: $1, shape: $0.shape) }
    }

    /// Metadata of the result: the file's, with the changes.
    var metadata: GGUFDraft {
        var draft = GGUFDraft(copying: file.metadata)
        for key in ["split.no", "split.count", "split.tensors.count", "general.alignment"] { draft[key] = nil }
        draft["general.quantization_version"] = .uint32(2)
        if let mixture { draft["general.file_type"] = .uint32(mixture.fileType) }
        if let importance {
            draft["quantize.imatrix.file"] = .string(importance.path)
            draft["quantize.imatrix.entries_count"] = .uint32(importance.count)
            if let chunks = importance.chunks { draft["quantize.imatrix.chunks_count"] = .uint32(chunks) }
        }
        return draft
    }

    /// Writes the result.
    ///
    /// - Parameter progress: Called with the finished share, 0...1.
    /// - Throws: `ModelFileError`, also for values that are not finite or out of a format's range.
    package func write(to path: String, progress: @escaping (Double) -> Void = { _ in }) throws {
        var (source, target) = (stat(), stat())
        if stat(file.path, &source) == 0, stat(path, &target) == 0, source.st_ino == target.st_ino,
            source.st_dev == target.st_dev
        {
            throw ModelFileError(.unreadable, "The output would overwrite the input file.", path: path)
        }
        let writer = try GGUFWriter(path: path, metadata, shapes)
        try forEachSlab(progress: progress) { try writer.append($0) }
        try writer.finish()
    }

    /// Calls `body` with the bytes of the result's tensors, in order, in slabs of whole rows.
    func forEachSlab(progress: (Double) -> Void, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let pool = ThreadPool(count: threads)
        defer { pool.stop() }
        let total = Double(max(1, file.tensors.reduce(0) { $0 + $1.byteCount }))
        var done = 0
        progress(0)
        for (tensor, type) in zip(file.tensors, plan.types) {
            let slabs = TensorSlabs(tensor, type, try importance?.values(for: tensor), workers: pool.count)
            for rows in slabs.ranges {
                tensor.file.prefetch(slabs.source(rows))
                if tensor.type == type {
                    try body(UnsafeRawBufferPointer(rebasing: tensor.file.bytes[slabs.source(rows)]))
                } else {
                    try slabs.quantize(rows, on: pool, body)
                }
                tensor.file.giveBack(slabs.source(rows))
                done += slabs.source(rows).count
                progress(Double(done) / total)
            }
        }
    }
}

/// A tensor's rows, in slabs of limited size.
final class TensorSlabs {
    private let tensor: TensorView
    private let type: TensorType
    private let columns: Int
    private let rows: Int
    /// `[matrices][columns]`; `nil`: the same for all columns.
    private let importance: [Float]?
    private let rowsPerMatrix: Int
    private let rowBytes: Int
    /// One row of floats per worker.
    private let floats: AlignedBuffer
    private let output: AlignedBuffer
    private let rowsPerSlab: Int

    /// Maximum bytes of a slab as floats, but at least one row.
    private static let slabBytes = 64 << 20

    init(_ tensor: TensorView, _ type: TensorType, _ importance: [Float]?, workers: Int) {
        self.tensor = tensor
        self.type = type
        columns = tensor.shape[0]
        rows = tensor.count / columns
        rowsPerMatrix = importance == nil ? rows : tensor.shape.dropFirst().first ?? 1
        // Columns that were never used get a small weight, so that their values are still quantized sensibly.
        let least = (importance?.max() ?? 0) * 1e-6
        self.importance = least > 0 ? importance?.map { max($0, least) } : nil
        rowBytes = columns / type.blockValues * type.blockBytes
        rowsPerSlab = max(1, min(rows, Self.slabBytes / (4 * columns)))
        floats = AlignedBuffer(floats: tensor.type == type ? 0 : workers * columns)
        output = AlignedBuffer(byteCount: tensor.type == type ? 0 : rowsPerSlab * rowBytes)
    }

    var ranges: [Range<Int>] {
        stride(from: 0, to: rows, by: rowsPerSlab).map { $0..<min($0 + rowsPerSlab, rows) }
    }

    /// Byte range of some rows in the file.
    func source(_ rows: Range<Int>) -> Range<Int> {
        let start = tensor.range.lowerBound
        return start + rows.lowerBound * tensor.rowBytes..<start + rows.upperBound * tensor.rowBytes
    }

    func quantize(
        _ slab: Range<Int>, on pool: ThreadPool, _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let isFinite = Atomic(true), fits = Atomic(true)
        let kernels = KernelSet.best
        let source = tensor.bytes.baseAddress! + slab.lowerBound * tensor.rowBytes
        pool.forEach(slab.count) { row, worker in
            let values = floats.floats + worker * columns
            kernels.dequantize(tensor.type, source + row * tensor.rowBytes, values, columns)
            if firstNonFiniteBlock(.F32, values, count: columns) != nil {
                isFinite.store(false, ordering: .relaxed)
                return
            }
            let target = output.base + row * rowBytes
            if let importance {
                let first = (slab.lowerBound + row) / rowsPerMatrix * columns
                importance.withUnsafeBufferPointer {
                    kernels.quantize(type, values, $0.baseAddress! + first, target, columns)
                }
            } else {
                kernels.quantize(type, values, nil, target, columns)
            }
            if firstNonFiniteBlock(type, target, count: columns / type.blockValues) != nil {
                fits.store(false, ordering: .relaxed)
            }
        }
        guard isFinite.load(ordering: .relaxed) else {
            throw ModelFileError(
                .badTensor, "Tensor '\(tensor.name)' has a value that is infinite or not a number.",
                path: tensor.file.path)
        }
        guard fits.load(ordering: .relaxed) else {
            throw ModelFileError(
                .badTensor,
                "Tensor '\(tensor.name)' has values too large for \(type.name), whose scales are at most 65504.",
                path: tensor.file.path)
        }
        try body(UnsafeRawBufferPointer(start: output.base, count: slab.count * rowBytes))
    }
}
