package import GGUF
package import Compute
import Platform

/// The file from which a network is built. Records which tensors are read, and repacks matrices.
package struct ModelReader {
    let file: GGUFFile
    let metadata: GGUFMetadata
    /// `nil`: matrices stay as in the file.
    let packer: WeightPacker?
    /// Names of the tensors that were read.
    let readTensors = ReadLog()
    let readKeys = ReadLog()
    private var isHidden: (String) -> Bool = { _ in false }

    package init(_ file: GGUFFile, packer: WeightPacker? = nil) {
        self.file = file
        var metadata = file.metadata
        metadata.log = readKeys
        self.metadata = metadata
        self.packer = packer
    }

    var path: String { file.path }

    /// Loads what attention without a causal mask computes with.
    func loadBLAS() throws(ModelFileError) {
        do { try BLAS.load() } catch {
            throw ModelFileError(.unsupported, "Encoders need OpenBLAS: \(error).", path: path)
        }
    }

    /// All tensors, hidden ones included; not recorded as read.
    var tensors: [TensorView] { file.tensors }

    /// The same reader with some tensors hidden.
    func hiding(_ isHidden: @escaping (String) -> Bool) -> ModelReader {
        var reader = self
        reader.isHidden = isHidden
        return reader
    }

    func contains(_ name: String) -> Bool { file.contains(name) && !isHidden(name) }

    func tensorIfPresent(_ name: String) -> TensorView? {
        readTensors.note(name)
        return isHidden(name) ? nil : file.tensorIfPresent(name)
    }

    /// The tensor of this name, or `nil` if there is none. Throws if its shape differs.
    func tensorIfPresent(_ name: String, shape: [Int]) throws(ModelFileError) -> TensorView? {
        guard let tensor = tensorIfPresent(name) else { return nil }
        guard tensor.shape.trimmed == shape.trimmed else {
            throw ModelFileError(
                .badTensor, "Tensor '\(name)' must have the shape \(shape), but has \(tensor.shape).",
                path: tensor.file.path)
        }
        return tensor
    }

    /// The tensor of this name and shape. Trailing dimensions of 1 are ignored.
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
