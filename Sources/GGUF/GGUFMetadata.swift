/// The keys and values of a GGUF file.
///
/// Getters come in pairs: `int(key)` throws if the key is missing, `intIfPresent(key)` returns `nil`. Both throw if the
/// value has another type; only the widths of integers and floats are converted.
package struct GGUFMetadata: Sendable {
    let path: String
    /// In the order of the file.
    private(set) var keys: [String] = []
    private var values: [String: GGUFValue] = [:]

    init(path: String) { self.path = path }

    /// Records the keys that are read; `nil`: no recording.
    package var log: ReadLog?

    package subscript(key: String) -> GGUFValue? {
        log?.note(key)
        return values[key]
    }

    /// - Returns: False if the key already exists; nothing is changed then.
    mutating func insert(_ value: GGUFValue, for key: String) -> Bool {
        guard values[key] == nil else { return false }
        values[key] = value
        keys.append(key)
        return true
    }

    package func int(_ key: String) throws(ModelFileError) -> Int { try required(key, intIfPresent(key)) }
    package func double(_ key: String) throws(ModelFileError) -> Double { try required(key, doubleIfPresent(key)) }
    func bool(_ key: String) throws(ModelFileError) -> Bool { try required(key, boolIfPresent(key)) }
    package func string(_ key: String) throws(ModelFileError) -> String { try required(key, stringIfPresent(key)) }
    package func ints(_ key: String) throws(ModelFileError) -> [Int] { try required(key, intsIfPresent(key)) }
    package func doubles(_ key: String) throws(ModelFileError) -> [Double] { try required(key, doublesIfPresent(key)) }
    func bools(_ key: String) throws(ModelFileError) -> [Bool] { try required(key, boolsIfPresent(key)) }
    package func strings(_ key: String) throws(ModelFileError) -> [String] { try required(key, stringsIfPresent(key)) }
    func byteStrings(_ key: String) throws(ModelFileError) -> [[UInt8]] { try required(key, byteStringsIfPresent(key)) }

    /// An integer of any width that fits into `Int`.
    package func intIfPresent(_ key: String) throws(ModelFileError) -> Int? {
        try decode(key, expected: "an integer below 2^63", \.int)
    }

    package func doubleIfPresent(_ key: String) throws(ModelFileError) -> Double? {
        try decode(key, expected: "a float", \.double)
    }

    /// A float or an integer.
    package func numberIfPresent(_ key: String) throws(ModelFileError) -> Double? {
        try decode(key, expected: "a number") { $0.double ?? $0.int.map { Double($0) } }
    }

    package func boolIfPresent(_ key: String) throws(ModelFileError) -> Bool? {
        try decode(key, expected: "a bool", \.bool)
    }

    package func stringIfPresent(_ key: String) throws(ModelFileError) -> String? {
        try decode(key, expected: "a UTF-8 string", \.string)
    }

    /// A text that is only shown: invalid UTF-8 is replaced.
    package func displayTextIfPresent(_ key: String) throws(ModelFileError) -> String? {
        try decode(key, expected: "a string") { $0.stringBytes.map { String(decoding: $0, as: UTF8.self) } }
    }

    package func intsIfPresent(_ key: String) throws(ModelFileError) -> [Int]? {
        try decode(key, expected: "an array of integers below 2^63") { $0.array?.decode(\.int) }
    }

    package func int32sIfPresent(_ key: String) throws(ModelFileError) -> [Int32]? {
        try decode(key, expected: "an array of integers of 32 bits") {
            $0.array?.decode { $0.int.flatMap { Int32(exactly: $0) } }
        }
    }

    func doublesIfPresent(_ key: String) throws(ModelFileError) -> [Double]? {
        try decode(key, expected: "an array of floats") { $0.array?.decode(\.double) }
    }

    func boolsIfPresent(_ key: String) throws(ModelFileError) -> [Bool]? {
        try decode(key, expected: "an array of bools") { $0.array?.decode(\.bool) }
    }

    package func stringsIfPresent(_ key: String) throws(ModelFileError) -> [String]? {
        try decode(key, expected: "an array of UTF-8 strings") { $0.array?.decode(\.string) }
    }

    /// Strings as raw bytes, which may be invalid UTF-8.
    func byteStringsIfPresent(_ key: String) throws(ModelFileError) -> [[UInt8]]? {
        try decode(key, expected: "an array of strings") { $0.array?.decode { $0.stringBytes.map { Array($0) } } }
    }

    /// One integer per layer, from an array of `count` integers or from a single integer.
    package func intsIfPresent(_ key: String, perLayer count: Int) throws(ModelFileError) -> [Int]? {
        guard let value = self[key] else { return nil }
        guard value.type == .array else { return try intIfPresent(key).map { Array(repeating: $0, count: count) } }
        guard value.array?.count == count else {
            throw wrong(key, expected: "an integer, or an array of \(count) of them, one a layer", found: value)
        }
        return try intsIfPresent(key)
    }

    package func intsPerLayer(_ key: String, layers count: Int) throws(ModelFileError) -> [Int] {
        try required(key, intsIfPresent(key, perLayer: count))
    }

    private func required<T>(_ key: String, _ value: T?) throws(ModelFileError) -> T {
        guard let value else {
            throw ModelFileError(.missingMetadata, "The metadata key '\(key)' is missing.", path: path)
        }
        return value
    }

    private func decode<T>(
        _ key: String, expected: String, _ transform: (GGUFValue) -> T?
    ) throws(ModelFileError) -> T? {
        guard let value = self[key] else { return nil }
        guard let decoded = transform(value) else { throw wrong(key, expected: expected, found: value) }
        return decoded
    }

    private func wrong(_ key: String, expected: String, found value: GGUFValue) -> ModelFileError {
        ModelFileError(
            .badMetadata, "The metadata key '\(key)' must be \(expected), but is \(value.summary).", path: path,
            byteOffset: value.offset)
    }
}
