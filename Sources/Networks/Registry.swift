package import GGUF
package import Compute

/// All supported architectures, by `general.architecture`.
package enum Registry {
    static let families: [String: Family] = [
        Family.llamas, Family.qwens, Family.mixtures, Family.gemmas, Family.coheres, Family.gpts, Family.granites,
        Family.glms, Family.phis, Family.olmos, Family.recurrents, Family.deepseeks, Family.others,
    ].reduce(into: [:]) { $0.merge($1) { first, _ in first } }

    /// Names of the architectures, sorted.
    package static var known: [String] {
        (Array(families.keys) + Array(EncoderFamily.architectures.keys) + ["t5"]).sorted()
    }

    /// Known architectures that are not supported, with a description for the error message.
    private static let refusals: [String: String] = [
        "dream": diffusion, "llada": diffusion, "llada-moe": diffusion, "rnd1": diffusion,
        "clip": "It is the image or audio part of a model; open the language model that it came with.",
        "gemma4-assistant": draft, "eagle3": draft, "dflash": draft,
        "wavtokenizer-dec": "It makes sound, not text.", "qwen3tts": "It makes sound, not text.",
        "pockettts": "It makes sound, not text.",
    ]
    private static let diffusion = "It is a diffusion model, which has no next token."
    private static let draft = "It only drafts tokens for a larger model."

    /// The encoder family of an architecture; `nil` for a decoder.
    private static func encoderFamily(
        _ file: ModelReader, _ architecture: String
    ) throws(ModelFileError) -> EncoderFamily? {
        if let family = EncoderFamily.architectures[architecture] { return family }
        let hyper = Hyperparameters(file: file, architecture: architecture)
        guard families[architecture] != nil, try hyper.bool("attention.causal") == false else { return nil }
        guard let family = EncoderFamily.unmaskedDecoders[architecture] else {
            let known = EncoderFamily.unmaskedDecoders.keys.sorted().joined(separator: ", ")
            throw hyper.invalid("attention.causal", "true, except in the architectures \(known)", found: false)
        }
        return family
    }

    /// - Parameters:
    ///   - packer: Repacks the weights; `nil`: they stay as in the file.
    ///   - context: Context in tokens to serve; `nil`: the trained context.
    package static func network(
        for file: GGUFFile, packer: WeightPacker? = nil, context: Int? = nil
    ) throws(ModelFileError) -> any Network {
        let architecture = try file.metadata.string("general.architecture")
        let reader = ModelReader(file, packer: packer)
        let unserved = Unserved(reader: reader, architecture: architecture)
        if let family = try encoderFamily(reader, architecture) {
            let builder = try EncoderBuilder(reader, architecture: architecture, family)
            let network = try builder.encoder()
            try unserved.refuse(layers: builder.layerCount) { _ in false }
            return network
        }
        if architecture == "t5" { return try T5(reader, architecture: architecture) }
        guard let family = families[architecture] else { throw unsupported(architecture, path: file.path) }
        let builder = try DecoderBuilder(reader, architecture: architecture, family, context: context)
        let network = try family.network(builder)
        try unserved.refuse(layers: builder.layerCount) { family.isUnused($0) }
        return network
    }

    /// Architectures whose reference data a plain implementation made, after the published code or paper: most are not in transformers.
    /// `ReferenceFamilyTests` compares this set and the next one with the reference data.
    static let fromPapers: Set<String> = [
        "arctic", "arwkv7", "bailingmoe", "bailingmoe2", "chameleon", "codeshell", "deepseek", "graniteswitch", "grok",
        "grovemoe", "jais", "jina-bert-v2", "maincoder", "maple", "nanbeige", "neo-bert", "nomic-bert-moe",
        "openelm", "orion", "plamo", "plamo2", "plamo3", "plm", "refact", "rwkv6", "rwkv6qwen2", "rwkv7",
        "smallthinker", "spark2_5", "talkie",
    ]

    /// Architectures without reference data.
    static let unchecked: Set<String> = ["kimi-k3"]

    /// Throws if the file's architecture is unchecked.
    package static func refuseUnchecked(_ file: GGUFFile) throws(ModelFileError) {
        let name = try file.metadata.string("general.architecture")
        guard unchecked.contains(name) else { return }
        throw ModelFileError(
            .unsupported,
            "The results of the architecture '\(name)' were never compared with another implementation's, so answers may be wrong. Add --unchecked to load the model nevertheless (in the library: Configuration.allowsUnchecked).",
            path: file.path)
    }

    package static func unsupported(_ architecture: String, path: String) -> ModelFileError {
        if let reason = refusals[architecture] {
            return ModelFileError(
                .unsupported, "The architecture '\(architecture)' is not supported. \(reason)", path: path)
        }
        let near = known.filter { distance($0, architecture) <= max(2, architecture.count / 3) }
            .sorted { (distance($0, architecture), $0) < (distance($1, architecture), $1) }.prefix(5)
        let names = near.isEmpty ? "" : " Similar names: \(near.joined(separator: ", "))."
        return ModelFileError(
            .unsupported,
            "The architecture '\(architecture)' is not supported.\(names) The key 'general.architecture' must name one of the \(known.count) architectures that docs/models.md lists, and the file must have that architecture's keys and tensors.",
            path: path)
    }

    /// Edit distance (Levenshtein 1966).
    private static func distance(_ a: String, _ b: String) -> Int {
        // A name from a file may be long; longer names are not close to any.
        let (a, b) = (Array(a.utf8.prefix(64)), Array(b.utf8.prefix(64)))
        var row = Array(0...b.count)
        for (i, x) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, y) in b.enumerated() {
                (diagonal, row[j + 1]) = (row[j + 1], min(row[j] + 1, row[j + 1] + 1, diagonal + (x == y ? 0 : 1)))
            }
        }
        return row[b.count]
    }
}
