import KernelFormats

/// A tensor in a mapped file. Retains the file.
struct TensorView: Sendable {
    let name: String
    let type: TensorType
    /// One to four dimensions, all positive, in GGUF's order: `shape[0]` is the length of a row, whose values are
    /// adjacent in memory. A linear layer from `n` to `m` features has the shape `[n, m]`.
    let shape: [Int]
    let file: MappedFile
    /// Byte range in the file; its length matches shape and type.
    let range: Range<Int>

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: file.bytes[range]) }

    /// Size in bytes, without computing the contents.
    var byteCount: Int { range.count }

    /// Number of values.
    var count: Int { shape.reduce(1, *) }

    /// Bytes of one row of `shape[0]` values.
    var rowBytes: Int { shape[0] / type.blockValues * type.blockBytes }
}
