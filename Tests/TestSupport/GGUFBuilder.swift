/// Writes small GGUF files for tests, valid or deliberately broken: nothing is checked, and computed fields can be
/// overridden.
public struct GGUFBuilder: Sendable {
    public indirect enum Value: Sendable {
        case uint8(UInt8), int8(Int8), uint16(UInt16), int16(Int16), uint32(UInt32), int32(Int32)
        case uint64(UInt64), int64(Int64), float32(Float), float64(Double), bool(Bool), string(String)
        /// A string that need not be UTF-8.
        case bytes([UInt8])
        /// All elements must have one type; an empty array has type `uint8`.
        case array([Value])
        /// Any type number, followed by these bytes.
        case raw(type: UInt32, [UInt8])

        public static func strings(_ values: [String]) -> Value { .array(values.map { .string($0) }) }
        public static func int32s(_ values: [Int32]) -> Value { .array(values.map { .int32($0) }) }
        public static func floats(_ values: [Float]) -> Value { .array(values.map { .float32($0) }) }
    }

    public struct Tensor: Sendable {
        public var name: String
        /// A `ggml_type`.
        public var type: UInt32
        /// Shape in GGUF's order: the row length first.
        public var shape: [UInt64]
        public var data: [UInt8]
        /// Offset from the start of the data; `nil`: after the previous tensor.
        public var offset: UInt64?

        public init(_ name: String, type: UInt32, shape: [UInt64], data: [UInt8], offset: UInt64? = nil) {
            self.name = name
            self.type = type
            self.shape = shape
            self.data = data
            self.offset = offset
        }

        /// An F32 tensor.
        public init(_ name: String, shape: [Int], _ values: [Float]) {
            self.init(
                name, type: 0, shape: shape.map { UInt64($0) }, data: values.flatMap { littleEndian($0.bitPattern) })
        }
    }

    public var magic: [UInt8] = Array("GGUF".utf8)
    public var version: UInt32 = 3
    /// Alignment of the tensors' data. `general.alignment` must be set separately in `metadata`.
    public var alignment = 32
    public var metadata: [(key: String, value: Value)]
    public var tensors: [Tensor]
    /// Overrides the number of tensors in the header.
    public var claimedTensorCount: UInt64?
    /// Overrides the number of metadata keys in the header.
    public var claimedKeyCount: UInt64?

    public init(_ metadata: KeyValuePairs<String, Value> = [:], tensors: [Tensor] = []) {
        self.metadata = metadata.map { ($0.key, $0.value) }
        self.tensors = tensors
    }

    /// The bytes of the file.
    public func bytes() -> [UInt8] {
        var out = magic + littleEndian(version)
        out += littleEndian(claimedTensorCount ?? UInt64(tensors.count))
        out += littleEndian(claimedKeyCount ?? UInt64(metadata.count))
        for (key, value) in metadata { out += lengthAndBytes(key.utf8) + littleEndian(value.type) + value.payload }
        var offset: UInt64 = 0
        for tensor in tensors {
            out += lengthAndBytes(tensor.name.utf8) + littleEndian(UInt32(tensor.shape.count))
            out += tensor.shape.flatMap { littleEndian($0) }
            out += littleEndian(tensor.type) + littleEndian(tensor.offset ?? offset)
            offset += UInt64(tensor.data.count + padding(tensor.data.count))
        }
        for tensor in tensors {
            out += Array(repeating: 0, count: padding(out.count))
            out += tensor.data
        }
        return out
    }

    private func padding(_ count: Int) -> Int { (alignment - count % alignment) % alignment }
}

extension GGUFBuilder.Value {
    var type: UInt32 {
        switch self {
        case .uint8: 0
        case .int8: 1
        case .uint16: 2
        case .int16: 3
        case .uint32: 4
        case .int32: 5
        case .float32: 6
        case .bool: 7
        case .string, .bytes: 8
        case .array: 9
        case .uint64: 10
        case .int64: 11
        case .float64: 12
        case .raw(let type, _): type
        }
    }

    var payload: [UInt8] {
        switch self {
        case .uint8(let value): [value]
        case .int8(let value): littleEndian(value)
        case .uint16(let value): littleEndian(value)
        case .int16(let value): littleEndian(value)
        case .uint32(let value): littleEndian(value)
        case .int32(let value): littleEndian(value)
        case .uint64(let value): littleEndian(value)
        case .int64(let value): littleEndian(value)
        case .float32(let value): littleEndian(value.bitPattern)
        case .float64(let value): littleEndian(value.bitPattern)
        case .bool(let value): [value ? 1 : 0]
        case .string(let value): lengthAndBytes(value.utf8)
        case .bytes(let value): lengthAndBytes(value)
        case .array(let values):
            littleEndian(values.first?.type ?? 0) + littleEndian(UInt64(values.count)) + values.flatMap(\.payload)
        case .raw(_, let bytes): bytes
        }
    }
}

private func lengthAndBytes(_ bytes: some Collection<UInt8>) -> [UInt8] { littleEndian(UInt64(bytes.count)) + bytes }

private func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
}
