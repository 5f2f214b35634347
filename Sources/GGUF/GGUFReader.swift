/// Reads the fields of a GGUF header in order. Lengths and counts are checked against the remaining bytes before
/// anything is read or allocated.
package struct GGUFReader {
    /// Arrays of arrays are legal but unused; this bounds the recursion that walks them.
    static let maximumArrayDepth = 8

    let file: MappedFile
    private(set) var offset = 0

    package init(_ file: MappedFile) { self.file = file }

    package var remaining: Int { file.bytes.count - offset }

    package func failure(_ reason: ModelFileError.Reason, _ message: String, at byteOffset: Int? = nil)
        -> ModelFileError
    {
        ModelFileError(reason, message, path: file.path, byteOffset: byteOffset ?? offset)
    }

    /// - Parameter what: Name of the field, for the error if the file ends here.
    package mutating func read<T: FixedWidthInteger & BitwiseCopyable>(
        _: T.Type, _ what: @autoclosure () -> String
    ) throws(ModelFileError) -> T {
        let size = MemoryLayout<T>.size
        guard remaining >= size else {
            throw failure(.truncated, "The file ends within \(what()): \(size) bytes expected, \(remaining) left.")
        }
        defer { offset += size }
        return T(littleEndian: file.bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
    }

    /// A count of items that each take at least `minimumBytes` of the rest of the file.
    mutating func readCount(
        ofAtLeast minimumBytes: Int, _ what: @autoclosure () -> String
    ) throws(ModelFileError) -> Int {
        let start = offset
        let count = try read(UInt64.self, what())
        guard count <= UInt64(remaining / minimumBytes) else {
            throw failure(
                .truncated, "\(what()) is \(count), which needs more than the \(remaining) bytes left.", at: start)
        }
        return Int(count)
    }

    /// The bytes of a string, without copying.
    mutating func readString(_ what: @autoclosure () -> String) throws(ModelFileError) -> UnsafeRawBufferPointer {
        let count = try readCount(ofAtLeast: 1, "the length of \(what())")
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: file.bytes[offset..<(offset + count)])
    }

    /// The next `count` bytes, without copying; throws if `count` is negative.
    package mutating func readBytes(_ count: Int, _ what: @autoclosure () -> String) throws(ModelFileError)
        -> UnsafeRawBufferPointer
    {
        guard (0...remaining).contains(count) else {
            throw failure(.truncated, "\(what()) would take \(count) bytes, of which \(remaining) are left.")
        }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: file.bytes[offset..<(offset + count)])
    }

    /// A key or a tensor's name: UTF-8 of at most `limit` bytes.
    mutating func readName(limit: Int, _ what: @autoclosure () -> String) throws(ModelFileError) -> String {
        let start = offset
        let bytes = try readString(what())
        guard bytes.count <= limit else {
            throw failure(.malformed, "\(what()) has \(bytes.count) bytes; at most \(limit) are allowed.", at: start)
        }
        guard let name = String(validating: bytes, as: UTF8.self) else {
            throw failure(.malformed, "\(what()) is not UTF-8.", at: start)
        }
        return name
    }

    mutating func readValue(of key: String) throws(ModelFileError) -> GGUFValue {
        let type = try readValueType(of: key)
        let start = offset
        try skip(type, of: key, depth: 0)
        return GGUFValue(file: file, type: type, offset: start)
    }

    private mutating func readValueType(of key: String) throws(ModelFileError) -> GGUFValueType {
        let start = offset
        let number = try read(UInt32.self, "the type of metadata key '\(key)'")
        guard let type = GGUFValueType(rawValue: number) else {
            throw failure(.malformed, "Metadata key '\(key)' has unknown type \(number); 0 to 12 are known.", at: start)
        }
        return type
    }

    /// Skips a value after checking all of it.
    private mutating func skip(_ type: GGUFValueType, of key: String, depth: Int) throws(ModelFileError) {
        switch type {
        case .string:
            _ = try readString("the value of metadata key '\(key)'")
        case .bool:
            let byte = try read(UInt8.self, "the value of metadata key '\(key)'")
            guard byte <= 1 else {
                throw failure(.malformed, "Metadata key '\(key)' has \(byte) for a bool, not 0 or 1.", at: offset - 1)
            }
        case .array:
            try skipArray(of: key, depth: depth + 1)
        default:
            try skip(type.minimumBytes, "the value of metadata key '\(key)'")
        }
    }

    private mutating func skipArray(of key: String, depth: Int) throws(ModelFileError) {
        guard depth <= Self.maximumArrayDepth else {
            throw failure(
                .malformed, "Metadata key '\(key)' nests arrays more than \(Self.maximumArrayDepth) deep.")
        }
        let element = try readValueType(of: key)
        let count = try readCount(
            ofAtLeast: element.minimumBytes, "The number of elements of metadata key '\(key)'")
        switch element {
        case .string, .array, .bool:
            for _ in 0..<count { try skip(element, of: key, depth: depth) }
        default:
            // No overflow: `readCount` divided the remaining bytes by the same number.
            try skip(count * element.minimumBytes, "the elements of metadata key '\(key)'")
        }
    }

    private mutating func skip(_ count: Int, _ what: @autoclosure () -> String) throws(ModelFileError) {
        guard count <= remaining else {
            throw failure(.truncated, "The file ends within \(what()): \(count) bytes expected, \(remaining) left.")
        }
        offset += count
    }
}
