package import KernelFormats

/// Metadata of a GGUF file to be written, in the order of writing.
package struct GGUFDraft {
    /// An encoded value: `payload` is what follows the type.
    package struct Value: Equatable {
        let type: GGUFValueType
        let payload: [UInt8]
    }

    private(set) var keys: [String] = []
    private var values: [String: Value] = [:]

    package subscript(key: String) -> Value? {
        get { values[key] }
        set {
            if values[key] == nil, newValue != nil { keys.append(key) }
            if newValue == nil { keys.removeAll { $0 == key } }
            values[key] = newValue
        }
    }

    package init() {}

    /// A copy of a file's keys and values.
    package init(copying metadata: GGUFMetadata) {
        for key in metadata.keys {
            guard let value = metadata[key] else { continue }
            self[key] = Value(type: value.type, payload: Array(value.file.bytes[value.offset..<value.end]))
        }
    }

    /// Bytes of the file before the tensor data, padding included.
    func header(_ tensors: [TensorShape]) -> [UInt8] {
        var out = Array("GGUF".utf8) + littleEndian(UInt32(3))
        out += littleEndian(UInt64(tensors.count)) + littleEndian(UInt64(keys.count))
        for key in keys {
            guard let value = values[key] else { continue }
            out += Value.string(key).payload + littleEndian(value.type.rawValue) + value.payload
        }
        var offset = 0
        for tensor in tensors {
            out += Value.string(tensor.name).payload + littleEndian(UInt32(tensor.shape.count))
            for dimension in tensor.shape { out += littleEndian(UInt64(dimension)) }
            out += littleEndian(tensor.type.rawValue) + littleEndian(UInt64(offset))
            offset += Self.padded(tensor.byteCount)
        }
        return out + Array(repeating: 0, count: Self.padded(out.count) - out.count)
    }

    /// The default of `general.alignment`, in bytes.
    static let alignment = 32

    static func padded(_ count: Int) -> Int { (count + alignment - 1) & ~(alignment - 1) }
}

/// A tensor's entry in the header.
package struct TensorShape: Equatable {
    let name: String
    let type: TensorType
    /// In GGUF's order: row length first. Rows must be a multiple of the type's block.
    let shape: [Int]

    package init(name: String, type: TensorType, shape: [Int]) {
        (self.name, self.type, self.shape) = (name, type, shape)
    }

    package var byteCount: Int { shape.reduce(1, *) / type.blockValues * type.blockBytes }
}

extension GGUFDraft.Value {
    package static func uint32(_ value: Int) -> Self {
        Self(type: .uint32, payload: littleEndian(UInt32(clamping: value)))
    }
    static func int32(_ value: Int) -> Self { Self(type: .int32, payload: littleEndian(Int32(clamping: value))) }
    static func float32(_ value: Double) -> Self {
        Self(type: .float32, payload: littleEndian(Float(value).bitPattern))
    }
    static func bool(_ value: Bool) -> Self { Self(type: .bool, payload: [value ? 1 : 0]) }
    package static func string(_ value: String) -> Self { bytes(value.utf8) }
    package static func strings(_ values: some Sequence<String>) -> Self { byteStrings(values.map { Array($0.utf8) }) }
    static func byteStrings(_ values: [[UInt8]]) -> Self { array(.string, values.map { bytes($0).payload }) }
    static func int32s(_ values: [Int]) -> Self { array(.int32, values.map { littleEndian(Int32(clamping: $0)) }) }
    static func uint8s(_ values: [UInt8]) -> Self {
        Self(
            type: .array,
            payload: littleEndian(GGUFValueType.uint8.rawValue) + littleEndian(UInt64(values.count)) + values)
    }
    static func floats(_ values: [Double]) -> Self {
        array(.float32, values.map { littleEndian(Float($0).bitPattern) })
    }
    static func bools(_ values: [Bool]) -> Self { array(.bool, values.map { [$0 ? 1 : 0] }) }

    private static func bytes(_ value: some Collection<UInt8>) -> Self {
        Self(type: .string, payload: littleEndian(UInt64(value.count)) + value)
    }

    private static func array(_ type: GGUFValueType, _ elements: [[UInt8]]) -> Self {
        var payload = littleEndian(type.rawValue) + littleEndian(UInt64(elements.count))
        payload.reserveCapacity(payload.count + elements.reduce(0) { $0 + $1.count })
        for element in elements { payload += element }
        return Self(type: .array, payload: payload)
    }
}

private func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
}
