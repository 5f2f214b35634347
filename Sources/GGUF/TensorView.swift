package import KernelFormats
import KernelsPortable

/// A tensor in a mapped file. Retains the file.
package struct TensorView: Sendable {
    package let name: String
    package let type: TensorType
    /// One to four dimensions, all positive, in GGUF's order: `shape[0]` is the length of a row, whose values are
    /// adjacent in memory. A linear layer from `n` to `m` features has the shape `[n, m]`.
    package let shape: [Int]
    package let file: MappedFile
    /// Byte range in the file; its length matches shape and type.
    package let range: Range<Int>

    package init(name: String, type: TensorType, shape: [Int], file: MappedFile, range: Range<Int>) {
        self.name = name
        self.type = type
        self.shape = shape
        self.file = file
        self.range = range
    }

    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: file.bytes[range]) }

    /// Size in bytes, without computing the contents.
    package var byteCount: Int { range.count }

    /// Number of values.
    package var count: Int { shape.reduce(1, *) }

    /// Bytes of one row of `shape[0]` values.
    package var rowBytes: Int { shape[0] / type.blockValues * type.blockBytes }

    /// All values, as floats.
    package func floats() -> [Float] {
        [Float](unsafeUninitializedCapacity: count) { buffer, initialized in
            dequantize(type, bytes.baseAddress!, into: buffer.baseAddress!, count: count)
            initialized = count
        }
    }

    /// All values of a tensor of the type I32.
    package func int32s() -> [Int32] {
        precondition(type == .I32, "a tensor of \(type) has no whole numbers")
        return (0..<count).map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Int32.self) }
    }

    /// A tensor of computed values, which has memory of its own.
    ///
    /// - Parameter path: Named in errors.
    package init(name: String, shape: [Int], floats: [Float], path: String) throws(ModelFileError) {
        let bytes = floats.withUnsafeBytes { Array($0) }
        self.init(
            name: name, type: .F32, shape: shape, file: try MappedFile(path: path, contents: bytes),
            range: 0..<bytes.count)
    }
}
