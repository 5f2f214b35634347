/// The types of metadata values, numbered as in GGUF files.
package enum GGUFValueType: UInt32, Sendable {
    case uint8, int8, uint16, int16, uint32, int32, float32, bool, string, array, uint64, int64, float64

    /// Bytes of a value; for strings and arrays the minimum.
    var minimumBytes: Int {
        switch self {
        case .uint8, .int8, .bool: 1
        case .uint16, .int16: 2
        case .uint32, .int32, .float32: 4
        case .uint64, .int64, .float64, .string: 8
        case .array: 12
        }
    }

    var isInteger: Bool {
        switch self {
        case .uint8, .int8, .uint16, .int16, .uint32, .int32, .uint64, .int64: true
        case .float32, .float64, .bool, .string, .array: false
        }
    }
}

/// One metadata value by its place in the file. It is decoded on access, so unused vocabularies cost nothing.
///
/// The parser has checked that it is in bounds, including nested strings and arrays.
package struct GGUFValue: Sendable {
    let file: MappedFile
    package let type: GGUFValueType
    /// Offset of the value's bytes, after the type; for arrays and strings, of their header.
    let offset: Int

    /// An integer of any width; `nil` for other types and for numbers that do not fit into `Int`.
    package var int: Int? {
        switch type {
        case .uint8: Int(load(UInt8.self))
        case .int8: Int(load(Int8.self))
        case .uint16: Int(load(UInt16.self))
        case .int16: Int(load(Int16.self))
        case .uint32: Int(load(UInt32.self))
        case .int32: Int(load(Int32.self))
        case .uint64: Int(exactly: load(UInt64.self))
        case .int64: Int(exactly: load(Int64.self))
        case .float32, .float64, .bool, .string, .array: nil
        }
    }

    package var double: Double? {
        switch type {
        case .float32: Double(Float(bitPattern: load(UInt32.self)))
        case .float64: Double(bitPattern: load(UInt64.self))
        default: nil
        }
    }

    package var bool: Bool? { type == .bool ? load(UInt8.self) != 0 : nil }

    /// The bytes of a string, not copied; valid while `file` lives.
    var stringBytes: UnsafeRawBufferPointer? {
        guard type == .string else { return nil }
        return UnsafeRawBufferPointer(rebasing: file.bytes[(offset + 8)..<(offset + 8 + load(Int.self))])
    }

    /// `nil` also if the bytes are not UTF-8.
    package var string: String? { stringBytes.flatMap { String(validating: $0, as: UTF8.self) } }

    package var array: GGUFArray? {
        guard type == .array, let elementType = GGUFValueType(rawValue: load(UInt32.self)) else { return nil }
        let count = GGUFValue(file: file, type: .uint64, offset: offset + 4).load(Int.self)
        return GGUFArray(file: file, elementType: elementType, count: count, offset: offset + 12)
    }

    /// In bounds: the parser has checked the value.
    private func load<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type) -> T {
        T(littleEndian: file.bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
    }

    /// Calls `body` with the bytes of the value in the file.
    func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        body(UnsafeRawBufferPointer(rebasing: file.bytes[offset..<end]))
    }

    /// A description for messages: "u32 7", "string", "array of 3 × f32".
    var summary: String {
        switch type {
        case .array: array.map { "array of \($0.count) × \($0.elementType)" } ?? "array"
        case .string: "string"
        case .bool: "bool \(bool == true)"
        case .float32, .float64: "\(type) \(double ?? .nan)"
        case .uint64: "uint64 \(load(UInt64.self))"
        default: "\(type) \(int ?? 0)"
        }
    }
}

/// An array in a file's metadata, whose elements are decoded during iteration.
package struct GGUFArray: Sequence, Sendable {
    let file: MappedFile
    let elementType: GGUFValueType
    package let count: Int
    /// Offset of the first element.
    let offset: Int

    package struct Iterator: IteratorProtocol {
        let array: GGUFArray
        var index = 0
        var offset: Int

        package mutating func next() -> GGUFValue? {
            guard index < array.count else { return nil }
            index += 1
            let value = GGUFValue(file: array.file, type: array.elementType, offset: offset)
            offset = value.end
            return value
        }
    }

    package var underestimatedCount: Int { count }

    package func makeIterator() -> Iterator { Iterator(array: self, offset: offset) }

    /// All elements transformed; `nil` if `transform` returns `nil` for one.
    package func decode<T>(_ transform: (GGUFValue) -> T?) -> [T]? {
        var result: [T] = []
        // The parser has checked this count: each element takes at least a byte of the file.
        result.reserveCapacity(count)
        for value in self {
            guard let element = transform(value) else { return nil }
            result.append(element)
        }
        return result
    }
}

extension GGUFValue {
    /// Offset of the byte after the value.
    var end: Int {
        if let stringBytes { return offset + 8 + stringBytes.count }
        guard let array else { return offset + type.minimumBytes }
        switch array.elementType {
        case .string, .array: return array.reduce(array.offset) { $1.end }
        default: return array.offset + array.count * array.elementType.minimumBytes
        }
    }
}
