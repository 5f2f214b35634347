import Foundation
import KernelFormats

/// The importance of each column of a model's matrices: the mean square of its inputs over some text.
///
/// Reads the files of llama.cpp's `llama-imatrix`: GGUF since 2025, an own format before.
package struct ImportanceMatrix: Sendable {
    package let path: String
    /// By tensor name: one value per column, for each expert's matrix in turn.
    private var means: [String: [Float]]
    /// Number of text chunks that it was made from, if the file says.
    let chunks: Int?

    package var count: Int { means.count }

    package init(path: String) throws(ModelFileError) {
        self.path = path
        let file = try MappedFile(path: path)
        if file.bytes.starts(with: "GGUF".utf8) {
            let gguf = try GGUFFile(path: path)
            means = try Self.read(gguf)
            chunks = try gguf.metadata.intIfPresent("imatrix.chunk_count")
        } else {
            (means, chunks) = try Self.readLegacy(file)
        }
        for (name, values) in means {
            if let wrong = values.first(where: { !$0.isFinite || $0 < 0 }) {
                throw ModelFileError(.malformed, "The entry '\(name)' has the invalid value \(wrong).", path: path)
            }
        }
    }

    /// The importance of a tensor's columns, `[matrices][columns]`; `nil` if there is none.
    ///
    /// - Throws: `badTensor` for an entry of another size, except for embeddings, whose columns are not inputs.
    func values(for tensor: TensorView) throws(ModelFileError) -> [Float]? {
        guard let values = means[tensor.name] else { return nil }
        let matrices = tensor.shape.dropFirst(2).reduce(1, *)
        guard values.count == tensor.shape[0] * matrices else {
            if tensor.name == "token_embd.weight" { return nil }
            throw ModelFileError(
                .badTensor,
                "The entry '\(tensor.name)' has \(values.count) values, but the tensor has \(matrices) × "
                    + "\(tensor.shape[0]) columns. Was it computed for another model?", path: path)
        }
        return values
    }

    /// Reads `NAME.in_sum2`, sums of squares `[columns, matrices]`, and `NAME.counts`, the rows summed for each matrix.
    private static func read(_ file: GGUFFile) throws(ModelFileError) -> [String: [Float]] {
        var means: [String: [Float]] = [:]
        for tensor in file.tensors where tensor.name.utf8.reversed().starts(with: ".in_sum2".utf8.reversed()) {
            let name = String(tensor.name.dropLast(8))
            guard let counts = file.tensorIfPresent(name + ".counts"), tensor.type == .F32, counts.type == .F32,
                tensor.count % counts.count == 0
            else {
                throw ModelFileError(
                    .badTensor, "'\(tensor.name)' needs '\(name).counts' beside it, both F32.", path: file.path)
            }
            let (sums, numbers) = (tensor.floats(), counts.floats())
            let columns = sums.count / numbers.count
            means[name] = sums.indices.map { index in
                // 0: the expert was never selected, so nothing is known about its columns.
                let count = numbers[index / columns]
                return count > 0 ? sums[index] / count : 1
            }
        }
        guard !means.isEmpty else {
            throw ModelFileError(.missingTensor, "The file has no tensor that ends in '.in_sum2'.", path: file.path)
        }
        return means
    }

    /// Reads the old format: the number of entries; for each entry the length of the name, the name, the number of
    /// calls, the number of values, and the floats; then, in some files, the number of chunks.
    private static func readLegacy(_ file: MappedFile) throws(ModelFileError) -> ([String: [Float]], Int?) {
        var reader = GGUFReader(file)
        let entries = try reader.read(Int32.self, "the number of entries")
        guard entries > 0 else {
            throw reader.failure(.badMagic, "This is not an importance matrix: it declares \(entries) entries.", at: 0)
        }
        var means: [String: [Float]] = [:]
        for index in 0..<Int(entries) {
            let what = "entry \(index + 1) of \(entries)"
            let name = try reader.readBytes(
                Int(reader.read(Int32.self, "the length of the name of \(what)")), "the name of \(what)")
            let calls = try reader.read(Int32.self, "the calls of \(what)")
            let count = Int(try reader.read(Int32.self, "the number of values of \(what)"))
            let bytes = try reader.readBytes(count > 0 ? 4 * count : -1, "the values of \(what)")
            means[String(decoding: name, as: UTF8.self)] = (0..<count).map {
                let bits = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self))
                return Float(bitPattern: bits) / Float(max(1, calls))
            }
        }
        return (means, reader.remaining >= 4 ? Int(try reader.read(Int32.self, "the number of chunks")) : nil)
    }
}
