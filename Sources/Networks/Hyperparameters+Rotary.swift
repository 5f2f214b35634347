import GGUF
import Compute
import Foundation

/// `rope.*`: the rotary embedding of queries and keys.
extension Hyperparameters {
    /// - Parameters:
    ///   - context: Context in tokens to serve; `nil`: the trained context.
    ///   - headWidth: Width of a head, of which the first `rope.dimension_count` values are rotated.
    ///   - baseKey: Key of the base of global layers.
    ///   - windows: The family's windows for a windowed layer, whose rotation may differ; `nil` for global layers.
    func rotary(
        _ layout: RotaryLayout, headWidth: Int, trainedContext: Int, context: Int? = nil,
        sections kind: Rotary.Sections = .none, isHalved: Bool = false, baseKey: String = "rope.freq_base",
        windows: Family.Windows? = nil
    ) throws(ModelFileError) -> Rotary {
        var key = "rope.dimension_count"
        if windows != nil, try countIfPresent("rope.dimension_count_swa") != nil { key = "rope.dimension_count_swa" }
        let width = (try countIfPresent(key) ?? headWidth) / (isHalved ? 2 : 1)
        guard width <= headWidth, width % 2 == 0 else {
            throw invalid(key, "an even number up to the head width \(headWidth)", found: width)
        }
        var base = try self.base(baseKey) ?? 10_000
        if let windows { base = try self.base("rope.freq_base_swa") ?? windows.rotaryBase ?? base }
        // NTK-aware scaling of the base, for all contexts (Hunyuan).
        if let alpha = try factor("rope.scaling.alpha"), alpha > 0, headWidth > 2 {
            base *= pow(Double(alpha), Double(headWidth) / Double(headWidth - 2))
        }
        let axes = try sections(kind, pairs: width / 2)
        var scaling = Rotary.Scaling.none
        if windows?.areUnscaled != true { scaling = try self.scaling(trainedContext: trainedContext) }
        let isUnscaled = windows?.areUnscaled == true
        // Files with sections pair halves, even if the family's other files do not (GLM 4).
        return Rotary(
            layout: axes == nil ? layout : .halves, width: width, base: base, scaling: scaling,
            factors: isUnscaled ? nil : try factors(width: width, trainedContext, context ?? trainedContext),
            axes: axes)
    }

    private func base(_ key: String) throws(ModelFileError) -> Double? {
        guard let base = try double(key), base != 0 else { return nil }
        guard base > 1, base.isFinite else { throw invalid(key, "more than 1", found: base) }
        return base
    }

    /// Divisors of the frequencies: Llama 3's scaling, or LongRoPE's for short or long contexts (Ding et al. 2024).
    private func factors(
        width: Int, _ trainedContext: Int, _ context: Int
    ) throws(ModelFileError) -> [Float]? {
        let original = try countIfPresent("rope.scaling.original_context_length") ?? trainedContext
        let name = context > original ? "rope_factors_long.weight" : "rope_factors_short.weight"
        let candidates = ["rope_factors_long.weight", "rope_factors_short.weight", "rope_freqs.weight"].map {
            (name: $0, tensor: file.tensorIfPresent($0))
        }
        for (candidate, tensor) in candidates where candidate == name || candidate == "rope_freqs.weight" {
            guard let tensor else { continue }
            guard tensor.shape.count == 1, tensor.shape[0] >= width / 2 else {
                throw ModelFileError(
                    .badTensor, "Tensor '\(name)' must have the shape [\(width / 2)], but has \(tensor.shape).",
                    path: file.path)
            }
            return Array(tensor.floats().prefix(width / 2))
        }
        return nil
    }

    /// The axis of each pair (M-RoPE, Wang et al. 2024); `nil`: all use the position in the text. Pairs of a fourth
    /// section use a position that is always 0: they have no axis.
    private func sections(_ kind: Rotary.Sections, pairs: Int) throws(ModelFileError) -> [Rotary.Axis?]? {
        guard kind != .none, let sizes = try file.metadata.intsIfPresent("\(architecture).rope.dimension_sections")
        else { return nil }
        guard (3...4).contains(sizes.count), sizes.allSatisfy({ (0...1 << 16).contains($0) }) else {
            throw invalid("rope.dimension_sections", "three or four counts of pairs", found: sizes)
        }
        let period = sizes.reduce(0, +)
        guard period > 0 else { return nil }
        let axes: [Rotary.Axis] = [.time, .row, .column]
        return (0..<pairs).map { pair in
            let place = pair % period
            if kind == .consecutive {
                return place < sizes[0]
                    ? .time
                    : place < sizes[0] + sizes[1] ? .row : place < sizes[0] + sizes[1] + sizes[2] ? .column : nil
            }
            // Interleaved: t, h, w, t, h, w, …; each axis up to its own number of pairs.
            return place < 3 * sizes[place % 3] ? axes[place % 3] : nil
        }
    }

    private func scaling(trainedContext: Int) throws(ModelFileError) -> Rotary.Scaling {
        // Old files have `rope.scale_linear` instead of `rope.scaling.type`.
        let linear = try double("rope.scale_linear")
        let type = try string("rope.scaling.type") ?? (linear == nil ? "none" : "linear")
        // Converters write 0 for "not scaled".
        let factor = try double("rope.scaling.factor").flatMap { $0 == 0 ? nil : $0 } ?? linear ?? 1
        guard factor > 0, factor.isFinite else { throw invalid("rope.scaling.factor", "more than 0", found: factor) }
        let magnitude = Double(try self.factor("rope.scaling.attn_factor") ?? 1)
        try refuseYarnVariants(isYarn: type == "yarn", factor: factor)
        switch type {
        // Phi 3's files declare a magnitude without a type.
        case "none": return magnitude == 1 ? .none : .linear(factor: 1, magnitude: magnitude)
        case "linear", "longrope": return .linear(factor: factor, magnitude: magnitude)
        case "yarn":
            return .yarn(
                factor: factor,
                originalContext: try count("rope.scaling.original_context_length", default: trainedContext),
                betaFast: try double("rope.scaling.yarn_beta_fast") ?? (architecture == "grok" ? 8 : 32),
                betaSlow: try double("rope.scaling.yarn_beta_slow") ?? 1,
                attentionFactor: try magnitude * yarnMagnitude(factor: factor),
                roundsRamp: try bool("rope.scaling.yarn_truncate") ?? true)
        default: throw invalid("rope.scaling.type", "none, linear, yarn or longrope", found: type)
        }
    }

    /// Refuses values of `yarn_ext_factor` and `yarn_attn_factor` that change YaRN: only full extrapolation and the magnitude
    /// 1 + 0.1·ln(factor) are supported.
    private func refuseYarnVariants(isYarn: Bool, factor: Double) throws(ModelFileError) {
        // Below 0: not set.
        if let mix = try double("rope.scaling.yarn_ext_factor"), mix >= 0, mix != (isYarn ? 1 : 0) {
            throw invalid("rope.scaling.yarn_ext_factor", isYarn ? "1, or below 0" : "0, or below", found: mix)
        }
        let usual = isYarn && factor > 1 ? 1 + 0.1 * log(factor) : 1
        if let magnitude = try double("rope.scaling.yarn_attn_factor"),
            ![0, 1, usual].contains(where: { abs($0 - magnitude) < 1e-3 })
        {
            throw invalid("rope.scaling.yarn_attn_factor", "1 or \(usual), YaRN's own", found: magnitude)
        }
    }

    /// Correction of YaRN's magnitude 1 + 0.1·ln(factor) in files with a log multiplier (DeepSeek).
    func yarnMagnitude(factor: Double) throws(ModelFileError) -> Double {
        // DeepSeek 4 has no magnitude.
        if architecture == "deepseek4" { return 1 / (1 + 0.1 * log(factor)) }
        let multiplier = Double(try yarnLogMultiplier())
        guard multiplier != 0, factor > 1 else { return 1 }
        // DeepSeek 2 applies it to the scores instead.
        if architecture == "deepseek2" { return 1 / (1 + 0.1 * log(factor)) }
        return 1 / (1 + 0.1 * multiplier * log(factor))
    }

    /// YaRN's log multiplier; 0: none. Files of DeepSeek's architectures store a tenth of it.
    func yarnLogMultiplier() throws(ModelFileError) -> Float {
        let multiplier = try factor("rope.scaling.yarn_log_multiplier") ?? 0
        return ["deepseek2", "deepseek32", "glm-dsa", "mistral4"].contains(architecture) ? multiplier * 10 : multiplier
    }
}
