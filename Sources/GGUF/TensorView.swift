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
}
