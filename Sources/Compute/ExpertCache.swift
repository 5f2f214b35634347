package import GGUF
package import KernelFormats
import KernelsPortable

/// Keeps a bounded number of experts in memory; the others stay in the file until a step uses them.
///
/// Memory is divided into slots of equal size. A slot holds all matrices of one expert of one layer, repacked for the
/// tier's kernels. If no slot is free, the least recently used expert is evicted. Matrices in formats without a packed
/// layout are not kept here: they are read from the memory-mapped file, whose pages the system keeps or drops.
///
/// `@unchecked Sendable`: used by the thread that loads the model, then by the engine's thread. Workers only read, while
/// that thread waits for them.
package final class ExpertCache: @unchecked Sendable {
    /// The experts of one layer.
    ///
    /// `@unchecked Sendable`: as the cache.
    package final class Layer: @unchecked Sendable {
        fileprivate struct Matrix {
            let tensor: TensorView
            let layout: RepackedLayout
            /// Rows per expert, a multiple of 16.
            let rows: Int
            /// Bytes from the start of a slot.
            let offset: Int

            var groups: Int { rows / PackedLayout.rows }
        }

        fileprivate unowned let cache: ExpertCache
        fileprivate var matrices: [Matrix] = []
        fileprivate var slotBytes = 0
        /// The slot of each expert; `nil`: it is not in memory.
        fileprivate var slots: [Int?]

        fileprivate init(_ cache: ExpertCache, count: Int) {
            self.cache = cache
            slots = Array(repeating: nil, count: count)
        }

        /// Reads those of the experts that are not in memory. All of them stay in memory until the next call.
        package func load(_ experts: some Sequence<Int>, on pool: ThreadPool) {
            cache.load(experts, of: self, on: pool)
        }
    }

    /// A matrix of one expert. Keeps the cache alive.
    package struct Matrix: Sendable {
        fileprivate let cache: ExpertCache
        package let layer: Layer
        fileprivate let expert: Int
        fileprivate let index: Int
        fileprivate var firstRow = 0

        /// The repacked weights; `nil` if the expert is not in memory.
        var packed: RepackedWeights? {
            guard let slot = layer.slots[expert], let memory = cache.memory else { return nil }
            let matrix = layer.matrices[index]
            let whole = matrix.layout.weights(
                columns: matrix.tensor.shape[0], in: memory, offset: slot * cache.slotBytes + matrix.offset)
            return firstRow == 0 ? whole : whole.suffix(fromRow: firstRow)
        }

        package func suffix(fromRow row: Int) -> Matrix {
            var suffix = self
            suffix.firstRow += row
            return suffix
        }
    }

    private struct Slot {
        var layer: Layer?
        var expert = 0
    }

    /// The slots from the least to the most recently used: a ring through them and one more place, before the first.
    private struct UseOrder {
        private var next: [Int]
        private var previous: [Int]

        init(count: Int) {
            next = (0...count).map { ($0 + 1) % (count + 1) }
            previous = (0...count).map { ($0 + count) % (count + 1) }
        }

        private var beginning: Int { next.count - 1 }
        var oldest: Int { next[beginning] }

        mutating func use(_ slot: Int) {
            next[previous[slot]] = next[slot]
            previous[next[slot]] = previous[slot]
            (previous[slot], next[slot]) = (previous[beginning], beginning)
            next[previous[slot]] = slot
            previous[beginning] = slot
        }
    }

    private let formats: Set<TensorType>
    private var layers: [Layer] = []
    private var layerByName: [String: Layer] = [:]
    private var slots: [Slot] = []
    private var order = UseOrder(count: 0)
    private var memory: RepackedWeights.Memory?
    /// Bytes of a slot: those of the largest expert.
    private(set) var slotBytes = 0
    /// Number of experts read from the file.
    private(set) var reads = 0

    package init(formats: Set<TensorType>) { self.formats = formats }

    /// Whether a tensor is stacked matrices of experts, by its name.
    package static func isExperts(_ tensor: TensorView) -> Bool { tensor.name.hasSuffix("_exps.weight") }

    /// Adds a tensor of `count` matrices to its layer's experts; `nil` if it is not kept here.
    package func add(_ tensor: TensorView, count: Int) -> [Matrix]? {
        let rows = tensor.count / tensor.shape[0] / count
        guard Self.isExperts(tensor), let layout = WeightPacker.layout(tensor, formats), rows % PackedLayout.rows == 0
        else { return nil }
        let parts = tensor.name.split(separator: ".").dropLast(2)
        let name = parts.joined(separator: ".") + " \(count)"
        let layer = layerByName[name] ?? Layer(self, count: count)
        if layerByName.updateValue(layer, forKey: name) == nil { layers.append(layer) }
        layer.matrices.append(.init(tensor: tensor, layout: layout, rows: rows, offset: layer.slotBytes))
        // Slots begin at cache lines.
        layer.slotBytes += (layout.bytes(rows: rows, columns: tensor.shape[0]) + 63) & ~63
        slotBytes = max(slotBytes, layer.slotBytes)
        return (0..<count).map { Matrix(cache: self, layer: layer, expert: $0, index: layer.matrices.count - 1) }
    }

    /// Least capacity in bytes: a step may use all experts of a layer.
    package var leastBytes: Int { slotBytes * layers.reduce(0) { max($0, $1.slots.count) } }
    /// Bytes of all experts.
    var totalBytes: Int { slotBytes * count }
    /// Number of all experts of all layers.
    package var count: Int { layers.reduce(0) { $0 + $1.slots.count } }
    package var capacity: Int { slots.count }

    /// Takes the memory and fills it, with as many experts of each layer.
    ///
    /// - Parameters:
    ///   - bytes: Raised to `leastBytes`.
    ///   - progress: Called with a share, 0...1; returns whether to continue.
    /// - Returns: Whether the memory could be allocated.
    package func fill(bytes: Int, on pool: ThreadPool, progress: (Double) -> Bool) -> Bool {
        guard slotBytes > 0 else { return true }
        let capacity = min(count, max(leastBytes, bytes) / slotBytes)
        guard let memory = RepackedWeights.Memory(byteCount: capacity * slotBytes) else { return false }
        self.memory = memory
        slots = Array(repeating: Slot(), count: capacity)
        order = UseOrder(count: capacity)
        for (index, layer) in layers.enumerated() {
            guard progress(Double(index) / Double(layers.count)) else { return true }
            let share = capacity * (index + 1) / layers.count - capacity * index / layers.count
            layer.load(0..<min(share, layer.slots.count), on: pool)
        }
        return true
    }

    private func load(_ experts: some Sequence<Int>, of layer: Layer, on pool: ThreadPool) {
        var missing: [Int] = []
        for expert in experts {
            if let slot = layer.slots[expert] { order.use(slot) } else { missing.append(expert) }
        }
        guard !missing.isEmpty, let memory else { return }
        for expert in missing {
            evictOne(for: expert, of: layer)
            for matrix in layer.matrices { matrix.tensor.file.prefetch(matrix.range(of: expert)) }
        }
        reads += missing.count
        let groups = layer.matrices.reduce(0) { $0 + $1.groups }
        pool.forEach(missing.count * groups) { item, _ in
            let expert = missing[item / groups]
            var (group, index) = (item % groups, 0)
            while group >= layer.matrices[index].groups {
                group -= layer.matrices[index].groups
                index += 1
            }
            guard let slot = layer.slots[expert] else { return }
            layer.matrices[index].pack(
                group, of: expert, into: memory.base + slot * slotBytes + layer.matrices[index].offset)
        }
        for expert in missing {
            for matrix in layer.matrices { matrix.tensor.file.giveBack(matrix.range(of: expert)) }
        }
    }

    /// Gives an expert the slot that was not used for the longest time.
    private func evictOne(for expert: Int, of layer: Layer) {
        let slot = order.oldest
        if let other = slots[slot].layer { other.slots[slots[slot].expert] = nil }
        slots[slot] = Slot(layer: layer, expert: expert)
        layer.slots[expert] = slot
        order.use(slot)
    }
}

extension ExpertCache.Layer.Matrix {
    /// Byte range of an expert's rows in the file.
    func range(of expert: Int) -> Range<Int> {
        let first = tensor.range.lowerBound + expert * rows * tensor.rowBytes
        return first..<first + rows * tensor.rowBytes
    }

    /// Repacks 16 rows of an expert.
    ///
    /// - Parameter base: The matrix in the expert's slot.
    func pack(_ group: Int, of expert: Int, into base: UnsafeMutableRawPointer) {
        let columns = tensor.shape[0]
        let source = tensor.file.bytes.baseAddress! + range(of: expert).lowerBound
        layout.pack(
            source + group * PackedLayout.rows * tensor.rowBytes, rowBytes: tensor.rowBytes, columns: columns,
            into: base + group * layout.bytes(rows: PackedLayout.rows, columns: columns))
    }
}
