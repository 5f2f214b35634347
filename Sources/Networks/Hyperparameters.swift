import GGUF

/// The hyperparameters that a GGUF file declares for its network, `{architecture}.{key}`.
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

    /// A finite number. 0 counts as absent: converters write it for parameters that a model does not have.
    func factor(_ key: String) throws(ModelFileError) -> Float? {
        guard let value = try double(key), value != 0 else { return nil }
        guard value.isFinite else { throw invalid(key, "finite", found: value) }
        return Float(value)
    }

    /// A positive number; required if there is no default.
    func count(_ key: String, default fallback: Int? = nil) throws(ModelFileError) -> Int {
        let declared = fallback == nil ? try metadata.int(name(key)) : try int(key)
        let value = declared ?? fallback ?? 0
        guard Self.counts.contains(value) else { throw invalid(key, "1...268435456", found: value) }
        return value
    }

    /// The number of blocks: memory is taken for each of them before its tensors are read.
    func blockCount() throws(ModelFileError) -> Int {
        let count = try count("block_count")
        guard count <= Self.maximumBlocks else {
            throw invalid("block_count", "at most \(Self.maximumBlocks)", found: count)
        }
        return count
    }

    /// The number of experts. Each has a row in a tensor, so a larger number than the longest dimension is refused.
    func expertCount() throws(ModelFileError) -> Int {
        let count = try count("expert_count")
        let longest = file.tensors.reduce(1) { $1.shape.reduce($0, max) }
        guard count <= longest else {
            throw invalid(
                "expert_count", "at most \(longest), the longest dimension of the file's tensors", found: count)
        }
        return count
    }

    /// A positive number; 0 counts as absent.
    func countIfPresent(_ key: String) throws(ModelFileError) -> Int? {
        guard let value = try int(key), value != 0 else { return nil }
        return try count(key)
    }

    /// One number per layer, from an array or from a single number; 0 is allowed.
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

    /// As `counts`; `nil` if the key is missing.
    func countsIfPresent(_ key: String, layers: Int) throws(ModelFileError) -> [Int]? {
        try metadata[name(key)] == nil ? nil : counts(key, layers: layers)
    }

    /// One flag per layer, from an array of bools or integers, or from a single value.
    func flags(_ key: String, layers: Int) throws(ModelFileError) -> [Bool] {
        let value = metadata[name(key)]
        if let flag = value?.bool { return Array(repeating: flag, count: layers) }
        if let flags = try flagsIfPresent(key, layers: layers) { return flags }
        return try counts(key, layers: layers).map { $0 != 0 }
    }

    /// One flag per layer, if the key holds an array. The array may cover layers for multi-token prediction too.
    func flagsIfPresent(_ key: String, layers: Int) throws(ModelFileError) -> [Bool]? {
        guard let array = metadata[name(key)]?.array else { return nil }
        let flags = array.decode { $0.bool ?? $0.int.map { $0 != 0 } } ?? []
        guard flags.count >= layers else { throw invalid(key, "an array of \(layers), one a layer", found: flags) }
        return Array(flags.prefix(layers))
    }

    /// One finite number per layer, from an array or from a single number.
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

    /// `value`, checked to be positive; `key` names it in the error.
    func positive(_ key: String, _ value: Int) throws(ModelFileError) -> Int {
        if value == 0 { return try count(key) }
        return value
    }

    /// Allowed range, far above any model; a product of two such numbers cannot overflow.
    private static let counts = 1...1 << 28

    /// Blocks, also those that a model runs several times.
    static let maximumBlocks = 1 << 12

    func invalid(_ key: String, _ expected: String, found: some Any) -> ModelFileError {
        ModelFileError(
            .badMetadata, "The metadata key '\(name(key))' must be \(expected), but is \(found).", path: file.path)
    }
}
