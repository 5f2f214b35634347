import KernelFormats

/// A GGUF model, versions 2 and 3, mapped into memory: metadata and tensors, from one file or all parts of a split one.
///
/// Written to the specification in docs/gguf.md of the ggml repository. Everything is checked against the file's size
/// on opening, so a `TensorView` or `GGUFValue` is safe to read whatever the file holds.
struct GGUFFile {
    /// Of the part that was opened.
    let path: String
    /// That of the first part, if the model is split.
    var metadata: GGUFMetadata
    /// In the order of the file, part after part.
    let tensors: [TensorView]
    /// Bytes of all parts.
    let byteCount: Int
    /// Where the parts are mapped.
    private let ranges: [MappedRange]
    private var indexByName: [String: Int]
    /// Repacks the matrices that a network takes from here; `nil` leaves them as they are in the file.
    var packer: WeightPacker?

    /// Tensors that have been asked for; `nil`: nobody wants to know.
    var tensorLog: ReadLog?

    /// Opens a model: a file, or a folder of safetensors as the file that it would be converted to. Any part of a split model
    /// opens all of it; the others are looked for beside it.
    init(path: String) throws(ModelFileError) {
        if SafetensorsFolder.isFolder(path) {
            self = try FolderModel(SafetensorsFolder(path: path)).file()
        } else {
            try self.init(path: path, parts: GGUFPart.all(startingWith: path))
        }
    }

    /// A model that is put together from several files.
    init(path: String, metadata: GGUFMetadata, tensors: [TensorView], ranges: [MappedRange]) {
        self.path = path
        self.metadata = metadata
        self.tensors = tensors
        byteCount = tensors.reduce(0) { $0 + $1.byteCount }
        self.ranges = ranges
        indexByName = Dictionary(tensors.enumerated().map { ($1.name, $0) }) { first, _ in first }
    }

    /// - Parameter parts: At least one.
    init(path: String, parts: [GGUFPart]) throws(ModelFileError) {
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
                        .malformed, "There is more than one tensor '\(tensor.name)'.", path: part.file.path)
                }
                tensors.append(tensor)
            }
        }
        self.tensors = tensors
        self.indexByName = indexByName
    }

    /// The same model with its tensors in other places or formats, in the same order.
    func replacingTensors(by tensors: [TensorView]) -> GGUFFile {
        var file = GGUFFile(path: path, metadata: metadata, tensors: tensors, ranges: ranges)
        (file.packer, file.tensorLog) = (packer, tensorLog)
        return file
    }

    /// Throws once a part was made shorter while it was in use: what was read of it since then may be zeros. The closure does not
    /// keep the file.
    var checkIntact: @Sendable () throws(ModelFileError) -> Void {
        { [path, ranges] () throws(ModelFileError) in
            guard ranges.contains(where: \.isLost) else { return }
            throw ModelFileError(
                .truncated, "The file was made shorter while it was in use. Load it again.", path: path)
        }
    }

    /// The same file without the names of some tensors.
    func hiding(_ isHidden: (String) -> Bool) -> GGUFFile {
        var file = self
        file.indexByName = indexByName.filter { !isHidden($0.key) }
        return file
    }

    func contains(_ name: String) -> Bool { indexByName[name] != nil }

    func tensorIfPresent(_ name: String) -> TensorView? {
        tensorLog?.note(name)
        return indexByName[name].map { tensors[$0] }
    }

    /// The tensor of this name, or `nil` if there is none; one of another shape is an error.
    func tensorIfPresent(_ name: String, shape: [Int]) throws(ModelFileError) -> TensorView? {
        guard let tensor = tensorIfPresent(name) else { return nil }
        guard tensor.shape.trimmed == shape.trimmed else {
            throw ModelFileError(
                .badTensor, "Tensor '\(name)' must have the shape \(shape), but has \(tensor.shape).",
                path: tensor.file.path)
        }
        return tensor
    }

    /// The tensor of this name, which must have this shape. Dimensions of 1 at the end do not matter.
    func tensor(_ name: String, shape: [Int]) throws(ModelFileError) -> TensorView {
        guard let tensor = try tensorIfPresent(name, shape: shape) else {
            throw ModelFileError(.missingTensor, "Tensor '\(name)' of shape \(shape) is missing.", path: path)
        }
        return tensor
    }
}

extension [Int] {
    fileprivate var trimmed: ArraySlice<Int> { prefix((lastIndex { $0 != 1 } ?? 0) + 1) }
}
