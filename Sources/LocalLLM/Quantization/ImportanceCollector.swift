import Foundation
import KernelFormats

/// Collects an importance matrix: the sums of squares of the inputs of a model's matrices.
///
/// `@unchecked Sendable`: used on the engine's thread while it runs, and by its owner afterwards.
final class ImportanceCollector: @unchecked Sendable {
    private struct Entry {
        let columns: Int
        /// `[matrices][columns]`
        var sums: [Double]
        /// Rows that each matrix was multiplied by.
        var counts: [Int]
    }

    private var entries: [String: Entry] = [:]

    func add(_ weights: WeightMatrix, _ input: Matrix) {
        let tensor = weights.tensor
        // The output matrix gets its format by other rules, as in llama.cpp.
        guard !["output.weight", "token_embd.weight"].contains(tensor.name) else { return }
        let matrices = tensor.shape.dropFirst(2).reduce(1, *)
        let matrix = weights.firstRow / (tensor.shape.dropFirst().first ?? 1)
        var entry =
            entries.removeValue(forKey: tensor.name)
            ?? Entry(
                columns: weights.columns, sums: Array(repeating: 0, count: matrices * weights.columns),
                counts: Array(repeating: 0, count: matrices))
        entry.counts[matrix] += input.rows
        entry.sums.withUnsafeMutableBufferPointer { sums in
            let sums = sums.baseAddress! + matrix * weights.columns
            for row in 0..<input.rows {
                let values = input[row]
                for column in 0..<weights.columns { sums[column] += Double(values[column] * values[column]) }
            }
        }
        entries[tensor.name] = entry
    }

    /// Writes a GGUF file like llama.cpp's `llama-imatrix`.
    func write(to path: String, chunks: Int, chunkSize: Int, dataset: String) throws {
        var metadata = GGUFDraft()
        metadata["general.type"] = .string("imatrix")
        metadata["imatrix.datasets"] = .strings([dataset])
        metadata["imatrix.chunk_count"] = .uint32(chunks)
        metadata["imatrix.chunk_size"] = .uint32(chunkSize)
        let sorted = entries.sorted { $0.key < $1.key }
        let writer = try GGUFWriter(
            path: path, metadata,
            sorted.flatMap { name, entry in
                [
                    TensorShape(name: name + ".in_sum2", type: .F32, shape: [entry.columns, entry.counts.count]),
                    TensorShape(name: name + ".counts", type: .F32, shape: [1, entry.counts.count]),
                ]
            })
        for (_, entry) in sorted {
            for values in [entry.sums.map { Float($0) }, entry.counts.map { Float($0) }] {
                try values.map(\.bitPattern.littleEndian).withUnsafeBytes { try writer.append($0) }
            }
        }
        try writer.finish()
    }
}
