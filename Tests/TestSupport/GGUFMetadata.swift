public import Foundation

/// Reads the metadata of a GGUF file, independently of the library's reader. Does not validate the file.
public struct GGUFMetadata {
    public private(set) var strings: [String: [UInt8]] = [:]
    public private(set) var numbers: [String: Double] = [:]
    public private(set) var stringArrays: [String: [[UInt8]]] = [:]
    public private(set) var numberArrays: [String: [Double]] = [:]

    private let data: Data
    private var offset = 0

    public init(_ url: URL) throws {
        data = try Data(contentsOf: url, options: .alwaysMapped)
        offset = 16  // magic, version, number of tensors
        for _ in 0..<Int(integer(UInt64.self)) {
            let key = String(decoding: string(), as: UTF8.self)
            switch integer(UInt32.self) {
            case 8: strings[key] = string()
            case 9:
                let type = integer(UInt32.self)
                let count = Int(integer(UInt64.self))
                if type == 8 {
                    stringArrays[key] = (0..<count).map { _ in string() }
                } else {
                    numberArrays[key] = (0..<count).map { _ in number(type) }
                }
            case let type: numbers[key] = number(type)
            }
        }
    }

    private mutating func integer<T: FixedWidthInteger>(_: T.Type) -> T {
        defer { offset += MemoryLayout<T>.size }
        return data.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: T.self) }
    }

    private mutating func string() -> [UInt8] {
        let count = Int(integer(UInt64.self))
        defer { offset += count }
        return Array(data[offset..<offset + count])
    }

    /// Reads a scalar of a GGUF type number.
    private mutating func number(_ type: UInt32) -> Double {
        switch type {
        case 0, 7: Double(integer(UInt8.self))
        case 1: Double(integer(Int8.self))
        case 2: Double(integer(UInt16.self))
        case 3: Double(integer(Int16.self))
        case 4: Double(integer(UInt32.self))
        case 5: Double(integer(Int32.self))
        case 6: Double(Float(bitPattern: integer(UInt32.self)))
        case 10: Double(integer(UInt64.self))
        case 11: Double(integer(Int64.self))
        case 12: Double(bitPattern: integer(UInt64.self))
        default: .nan
        }
    }
}
