/// The numbers that a GGUF file gives about its network, `{architecture}.{key}`.
///
/// Key names: GGUF specification, "Standardized key-value pairs".
struct Hyperparameters {
    let file: GGUFFile
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

    /// One flag for each layer, from an array of bools or of integers, or one for all.
    func flags(_ key: String, layers: Int) throws(ModelFileError) -> [Bool] {
        let value = metadata[name(key)]
        if let flag = value?.bool { return Array(repeating: flag, count: layers) }
        guard value?.array?.elementType == .bool else { return try counts(key, layers: layers).map { $0 != 0 } }
        let flags = try metadata.bools(name(key))
        guard flags.count == layers else { throw invalid(key, "\(layers) values, one a layer", found: flags.count) }
        return flags
    }

    /// Far above any model; a product of two of them cannot overflow.
    private static let counts = 1...1 << 28

    func invalid(_ key: String, _ expected: String, found: some Any) -> ModelFileError {
        ModelFileError(
            .badMetadata, "The metadata key '\(name(key))' must be \(expected), but is \(found).", path: file.path)
    }

    /// `rope.*`: frequencies for heads of which the first `width` values turn.
    func rotary(_ layout: Rotary.Layout, headWidth: Int, trainedContext: Int) throws(ModelFileError) -> Rotary {
        let width = try count("rope.dimension_count", default: headWidth)
        guard width <= headWidth, width % 2 == 0 else {
            throw invalid("rope.dimension_count", "an even number up to the head width \(headWidth)", found: width)
        }
        let base = try double("rope.freq_base") ?? 10_000
        guard base > 1, base.isFinite else { throw invalid("rope.freq_base", "more than 1", found: base) }
        // Llama 3's scaling by frequency is stored as what divides each frequency.
        let factors = try file.tensorIfPresent("rope_freqs.weight", shape: [width / 2])?.floats()
        return Rotary(
            layout: layout, width: width, base: base, scaling: try scaling(trainedContext: trainedContext),
            factors: factors)
    }

    private func scaling(trainedContext: Int) throws(ModelFileError) -> Rotary.Scaling {
        // `rope.scale_linear` is what files had before `rope.scaling.type`.
        let linear = try double("rope.scale_linear")
        let type = try string("rope.scaling.type") ?? (linear == nil ? "none" : "linear")
        // Converters write 0 for "not scaled".
        let factor = try double("rope.scaling.factor").flatMap { $0 == 0 ? nil : $0 } ?? linear ?? 1
        guard factor > 0, factor.isFinite else { throw invalid("rope.scaling.factor", "more than 0", found: factor) }
        switch type {
        case "none": return .none
        case "linear": return .linear(factor: factor)
        case "yarn":
            return .yarn(
                factor: factor,
                originalContext: try count("rope.scaling.original_context_length", default: trainedContext),
                betaFast: try double("rope.scaling.yarn_beta_fast") ?? 32,
                betaSlow: try double("rope.scaling.yarn_beta_slow") ?? 1,
                attentionFactor: try double("rope.scaling.attn_factor") ?? 1)
        default: throw invalid("rope.scaling.type", "none, linear or yarn", found: type)
        }
    }
}
