import KernelFormats

/// A tensor where it lies in a mapped file. Holds on to the file.
struct TensorView: Sendable {
    let name: String
    let type: TensorType
    /// One to four dimensions, none of them zero, in GGUF's order: `shape[0]` is the length of a row, whose values are
    /// next to each other. A linear layer from `n` to `m` features has the shape `[n, m]`.
    let shape: [Int]
    let file: MappedFile
    /// Where in the file. As long as the shape and type say.
    let range: Range<Int>

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: file.bytes[range]) }

    /// Known without reading them.
    var byteCount: Int { range.count }

    /// Number of values.
    var count: Int { shape.reduce(1, *) }

    /// Bytes of one row of `shape[0]` values.
    var rowBytes: Int { shape[0] / type.blockValues * type.blockBytes }
}
