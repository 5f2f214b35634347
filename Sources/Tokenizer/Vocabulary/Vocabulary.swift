/// The tokens of a model, and the IDs with special roles.
struct Vocabulary: Sendable {
    private(set) var kinds: [TokenKind]
    var beginningOfSequence: Int32?
    var endOfSequence: Int32?
    var unknown: Int32?
    var separator: Int32?
    /// Tokens that end generation.
    private(set) var endOfGeneration: Set<Int32> = []
    private(set) var fillInMiddle: FillInMiddle?

    var count: Int { kinds.count }

    /// Default IDs for roles without a key in the file. Each tokenizer model has its own, from its first files.
    struct DefaultIDs {
        var beginning: Int32?
        var end: Int32?
        var unknown: Int32?
        var separator: Int32?
    }

    init(_ description: TokenizerDescription, defaults: DefaultIDs) throws(TokenizerError) {
        let tokens = description.tokens
        guard !tokens.isEmpty else {
            throw .missing(field: "tokenizer.ggml.tokens", model: description.model)
        }
        guard tokens.count < 1 << 24 else {
            throw .invalid(
                field: "tokenizer.ggml.tokens", reason: "expected at most 2^24 tokens, found \(tokens.count).")
        }
        for (field, count) in [("scores", description.scores?.count), ("token_type", description.types?.count)] {
            guard let count, count != tokens.count else { continue }
            throw .invalid(
                field: "tokenizer.ggml.\(field)",
                reason: "expected \(tokens.count) elements, one for each token, found \(count).")
        }
        kinds = description.types?.map { TokenKind(fileType: $0) } ?? Array(repeating: .normal, count: tokens.count)

        let (types, kinds) = (description.types, kinds)
        func valid(_ id: Int32?) -> Int32? { id.flatMap { kinds.indices.contains(Int($0)) ? $0 : nil } }
        func id(_ named: Int32?, _ otherwise: Int32?) -> Int32? {
            if let named = valid(named) { return named }
            // In many BPE files without this key, the default ID is a comma.
            return valid(otherwise).flatMap { types == nil || kinds[Int($0)].isSpecial ? $0 : nil }
        }
        beginningOfSequence = id(description.beginningOfSequence, defaults.beginning)
        endOfSequence = id(description.endOfSequence, defaults.end)
        unknown = valid(description.unknown) ?? valid(defaults.unknown)
        separator = valid(description.separator) ?? valid(defaults.separator)

        let known = KnownTokens(tokens)
        let named = [endOfSequence, valid(description.endOfTurn), valid(description.endOfMessage)].compactMap { $0 }
        let fillIns = [
            (valid(description.fillInMiddlePad), known.fillInMiddlePad),
            (valid(description.fillInMiddleRepository), known.fillInMiddleRepository),
            (valid(description.fillInMiddleSeparator), known.fillInMiddleSeparator),
        ]
        if let prefix = valid(description.fillInMiddlePrefix) ?? known.fillInMiddlePrefix,
            let suffix = valid(description.fillInMiddleSuffix) ?? known.fillInMiddleSuffix,
            let middle = valid(description.fillInMiddleMiddle) ?? known.fillInMiddleMiddle
        {
            fillInMiddle = FillInMiddle(
                prefix: prefix, suffix: suffix, middle: middle, repository: fillIns[1].0 ?? fillIns[1].1,
                file: fillIns[2].0 ?? fillIns[2].1)
        }
        endOfGeneration = Set(named + known.endings + fillIns.compactMap { $0 ?? $1 })
        let found = fillIns.compactMap { named, found in named == nil ? found : nil }
        applyKnown(known, controls: known.endings + known.fillInMiddle + found)
        applySpaceTaking(known, description)
        // What the file lists holds, whatever the tokens' texts suggest.
        endOfGeneration.formUnion(description.endsOfSequence.compactMap { valid($0) })
    }

    func kind(_ id: Int32) -> TokenKind { kinds.indices.contains(Int(id)) ? kinds[Int(id)] : [] }

    /// Corrects tokens whose type is wrong in the files of many models, by their text.
    private mutating func applyKnown(_ known: KnownTokens, controls: [Int32]) {
        for id in controls { kinds[Int(id)].insert(.control) }
        for id in known.alwaysShown { kinds[Int(id)] = .userDefined }
        if let end = known.endThatContinues {
            endOfGeneration.remove(end)
            kinds[Int(end)] = .userDefined
        }
        if let end = known.endThatIsText, endOfGeneration.contains(end) {
            endOfGeneration.remove(end)
            kinds[Int(end)] = .normal
        }
    }

    /// Marks tokens that absorb adjacent white space. Files do not declare this; it is known for some models by name.
    private mutating func applySpaceTaking(_ known: KnownTokens, _ description: TokenizerDescription) {
        let (pre, architecture) = (description.pre ?? "", description.architecture ?? "")
        let name = (description.modelName ?? "").lowercased()
        func has(_ text: String, _ parts: [String]) -> Bool { parts.contains { text.contains($0) } }

        if has(pre, ["jina-v2-de", "jina-v2-es", "jina-v2-code"])
            || has(architecture, ["nomic-bert-moe", "jina-bert-v3"])
        {
            if let mask = known["<mask>"] { kinds[Int(mask)].insert(.takesSpaceBefore) }
        } else if has(name, ["phi-3", "phi3"]) {
            for id in kinds.indices where kinds[id].isSpecial { kinds[id].insert(.takesSpaceAfter) }
            if let end = known["</s>"] { kinds[Int(end)].insert(.takesSpaceAfter) }
            for id in ["<unk>", "<s>", "<|endoftext|>"].compactMap({ known[$0] }) {
                kinds[Int(id)].remove(.takesSpaceAfter)
            }
        } else if has(name, ["modern-bert"]) {
            if let mask = known["[MASK]"] { kinds[Int(mask)].insert(.takesSpaceBefore) }
        }
    }
}
