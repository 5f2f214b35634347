/// The numbers that a GGUF file gives about its network, `{architecture}.{key}`.
///
/// Key names: GGUF specification, "Standardized key-value pairs".
struct Hyperparameters {
    let file: ModelReader
    let architecture: String

    private var metadata: GGUFMetadata { file.metadata }
    private func name(_ key: String) -> String { "\(architecture).\(key)" }

    func has(_ key: String) -> Bool { metadata[name(key)] != nil }
    func int(_ key: String) throws(ModelFileError) -> Int? { try metadata.intIfPresent(name(key)) }
    func double(_ key: String) throws(ModelFileError) -> Double? { try metadata.doubleIfPresent(name(key)) }
    func bool(_ key: String) throws(ModelFileError) -> Bool? { try metadata.boolIfPresent(name(key)) }
    func string(_ key: String) throws(ModelFileError) -> String? { try metadata.stringIfPresent(name(key)) }

    /// A finite number; converters write 0 for what a model does not have, which counts as absent.
    func factor(_ key: String) throws(ModelFileError) -> Float? {
        guard let value = try double(key), value != 0 else { return nil }
        guard value.isFinite else { throw invalid(key, "finite", found: value) }
        return Float(value)
    }

    /// A positive number; without a default, one that the architecture cannot do without.
    func count(_ key: String, default fallback: Int? = nil) throws(ModelFileError) -> Int {
        let declared = fallback == nil ? try metadata.int(name(key)) : try int(key)
        let value = declared ?? fallback ?? 0
        guard Self.counts.contains(value) else { throw invalid(key, "1...268435456", found: value) }
        return value
    }

    /// A positive number; 0 counts as absent.
    func countIfPresent(_ key: String) throws(ModelFileError) -> Int? {
        guard let value = try int(key), value != 0 else { return nil }
        return try count(key)
    }

    /// One number for each layer, from an array or from a number for all; 0 is one too.
    func counts(_ key: String, layers: Int, default fallback: Int? = nil) throws(ModelFileError) -> [Int] {
        let declared = try metadata.intsIfPresent(name(key), perLayer: layers)
        guard let values = declared ?? fallback.map({ Array(repeating: $0, count: layers) }) else {
            return try metadata.intsPerLayer(name(key), layers: layers)
        }
        for value in values where value != 0 && !Self.counts.contains(value) {
            throw invalid(key, "0...268435456", found: value)
        }
        return values
    }

    /// As `counts`; `nil` if there is no such key.
    func countsIfPresent(_ key: String, layers: Int) throws(ModelFileError) -> [Int]? {
        try metadata[name(key)] == nil ? nil : counts(key, layers: layers)
    }

    /// One flag for each layer, from an array of bools or of integers, or one for all.
    func flags(_ key: String, layers: Int) throws(ModelFileError) -> [Bool] {
        let value = metadata[name(key)]
        if let flag = value?.bool { return Array(repeating: flag, count: layers) }
        if let flags = try flagsIfPresent(key, layers: layers) { return flags }
        return try counts(key, layers: layers).map { $0 != 0 }
    }

    /// One flag for each layer, if the key holds an array. It may go on for layers that predict further tokens.
    func flagsIfPresent(_ key: String, layers: Int) throws(ModelFileError) -> [Bool]? {
        guard let array = metadata[name(key)]?.array else { return nil }
        let flags = array.decode { $0.bool ?? $0.int.map { $0 != 0 } } ?? []
        guard flags.count >= layers else { throw invalid(key, "an array of \(layers), one a layer", found: flags) }
        return Array(flags.prefix(layers))
    }

    /// One finite number for each layer, from an array or from a number for all.
    func doubles(_ key: String, layers: Int) throws(ModelFileError) -> [Double]? {
        guard let value = metadata[name(key)] else { return nil }
        let values =
            value.array == nil
            ? Array(repeating: try metadata.double(name(key)), count: layers) : try metadata.doubles(name(key))
        guard values.count >= layers, values.allSatisfy(\.isFinite) else {
            throw invalid(key, "a number, or an array of \(layers) of them, one a layer", found: values)
        }
        return values
    }

    /// `value`, which the key gave; 0 is not allowed.
    func positive(_ key: String, _ value: Int) throws(ModelFileError) -> Int {
        if value == 0 { return try count(key) }
        return value
    }

    /// Far above any model; a product of two of them cannot overflow.
    private static let counts = 1...1 << 28

    func invalid(_ key: String, _ expected: String, found: some Any) -> ModelFileError {
        ModelFileError(
            .badMetadata, "The metadata key '\(name(key))' must be \(expected), but is \(found).", path: file.path)
    }
}
