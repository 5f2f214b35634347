import KernelFormats

/// A GGUF model, versions 2 and 3, mapped into memory: metadata and tensors, from one file or all parts of a split one.
///
/// Written to the specification in docs/gguf.md of the ggml repository. Everything is checked against the file's size
/// on opening, so a `TensorView` or `GGUFValue` is safe to read whatever the file holds.
package struct GGUFFile {
    /// Path of the part that was opened.
    package let path: String
    /// Metadata of the first part, if the model is split.
    package let metadata: GGUFMetadata
    /// In the order of the file, part after part.
    package let tensors: [TensorView]
    /// Bytes of all parts together.
    package let byteCount: Int
    /// The mappings of all parts.
    private let ranges: [MappedRange]
    private let indexByName: [String: Int]

    /// A model composed of several files.
    package init(path: String, metadata: GGUFMetadata, tensors: [TensorView], ranges: [MappedRange]) {
        self.path = path
        self.metadata = metadata
        self.tensors = tensors
        byteCount = tensors.reduce(0) { $0 + $1.byteCount }
        self.ranges = ranges
        indexByName = Dictionary(tensors.enumerated().map { ($1.name, $0) }) { first, _ in first }
    }

    /// - Parameter parts: At least one.
    package init(path: String, parts: [GGUFPart]) throws(ModelFileError) {
        self.path = path
        metadata = parts[0].metadata
        ranges = parts.compactMap { $0.file.range }
        byteCount = parts.reduce(0) { $0 + $1.file.byteCount }
        var tensors: [TensorView] = []
        var indexByName: [String: Int] = [:]
        for part in parts {
            for tensor in part.tensors {
                guard indexByName.updateValue(tensors.count, forKey: tensor.name) == nil else {
                    throw ModelFileError(
                        .malformed, "Duplicate tensor '\(tensor.name)'.", path: part.file.path)
                }
                tensors.append(tensor)
            }
        }
        self.tensors = tensors
        self.indexByName = indexByName
    }

    /// A copy with other tensors of the same names, in the same order.
    package func replacingTensors(by tensors: [TensorView]) -> GGUFFile {
        GGUFFile(path: path, metadata: metadata, tensors: tensors, ranges: ranges)
    }

    /// Throws if a part was truncated while in use: data read since may be zeros. Does not retain the file.
    package var checkIntact: @Sendable () throws(ModelFileError) -> Void {
        { [path, ranges] () throws(ModelFileError) in
            guard ranges.contains(where: \.isLost) else { return }
            throw ModelFileError(
                .truncated, "The file was truncated while in use. Load it again.", path: path)
        }
    }

    package func contains(_ name: String) -> Bool { indexByName[name] != nil }

    package func tensorIfPresent(_ name: String) -> TensorView? { indexByName[name].map { tensors[$0] } }
}

extension GGUFFile {
    /// Calls `body` with bytes by which models differ: all metadata but the tokenizer's, and of each tensor its name, type and
    /// shape, and some of its values. Reading all of the values would take seconds for a large model; one that was trained
    /// further has others everywhere.
    package func forEachSample(_ body: (UnsafeRawBufferPointer) -> Void) {
        func add(_ text: String) { Array(text.utf8).withUnsafeBytes(body) }
        for key in metadata.keys where !key.hasPrefix("tokenizer.") {
            add(key)
            metadata[key]?.withBytes(body)
        }
        let sampled = 4096
        for tensor in tensors {
            add("\(tensor.name) \(tensor.type) \(tensor.shape)")
            let bytes = tensor.bytes
            for start in [0, bytes.count / 2, bytes.count - sampled] {
                let first = max(0, min(start, bytes.count - sampled))
                body(UnsafeRawBufferPointer(rebasing: bytes[first..<min(bytes.count, first + sampled)]))
            }
        }
    }
}
