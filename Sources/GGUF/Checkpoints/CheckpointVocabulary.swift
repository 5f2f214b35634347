import JSON
import Tokenizer

/// Properties of a family's vocabularies that their files do not declare.
struct CheckpointVocabulary: Sendable {
    /// `tokenizer.ggml.model` for character-level BPE; default `llama`.
    var model: String?
    /// `tokenizer.ggml.pre` for Llama 3's pre-tokenizer.
    var llama3Name: String?
    /// `tokenizer.ggml.pre` for GPT-2's pre-tokenizer.
    var gpt2Name = "gpt-2"
    /// `tokenizer.ggml.pre` for GPT-2's pre-tokenizer with separate digits.
    var digitsName = "smollm"
    var addsSpacePrefix: Bool?
    var addsBeginning: Bool?
    /// Token texts by role, if the files do not declare them.
    var specialTokens: [String: String] = [:]
}

extension CheckpointConversion {
    /// Writes the tokenizer's keys; none if the folder has no tokenizer.
    mutating func writeVocabulary() throws(ModelFileError) {
        let settings = try folder.json("tokenizer_config.json")
        if let json = try folder.json("tokenizer.json") {
            try refuseContradictions(settings, json)
            try write(CheckpointTokenizer(json, settings, path: folder.path + "/tokenizer.json"), json)
        } else if let bytes = try folder.contents("tokenizer.model") {
            let vocabulary = try SentencePieceModel(bytes, path: folder.path + "/tokenizer.model")
            let added = try addedTokens(settings, after: vocabulary.pieces.count)
            let tokens = try writePieces(vocabulary, added: added)
            try writeSpecialTokens(
                CheckpointSpecialTokens(
                    tokens: tokens, settings, try folder.json("special_tokens_map.json"), config: config),
                tokens: tokens)
        }
        if let space = family.vocabulary.addsSpacePrefix { draft["tokenizer.ggml.add_space_prefix"] = .bool(space) }
        if family.vocabulary.addsBeginning == true { draft["tokenizer.ggml.add_bos_token"] = .bool(true) }
        try writeTemplates(settings)
    }

    private mutating func write(_ tokenizer: CheckpointTokenizer, _ json: JSON) throws(ModelFileError) {
        let settings = try folder.json("tokenizer_config.json")
        let special = CheckpointSpecialTokens(
            tokenizer: json, tokens: tokenizer.tokens, settings, try folder.json("special_tokens_map.json"),
            config: config)
        let size = try max(tokenizer.tokens.count, config.intIfPresent("vocab_size") ?? 0)
        // Padding is bounded by the rows of the embeddings.
        let rows = recipes["token_embd.weight"]?.shape.last ?? tokenizer.tokens.count
        guard size <= max(rows, tokenizer.tokens.count) else {
            throw config.wrong("vocab_size", "at most the \(rows) rows of the embeddings")
        }
        var (tokens, kinds) = (tokenizer.tokens, tokenizer.kinds)
        for index in tokens.count..<max(size, tokens.count) {
            tokens.append(Array("[PAD\(index)]".utf8))
            kinds.append(5)
        }
        draft.set(tokenizer.rules)
        switch tokenizer.kind {
        case .bytes(let pre):
            draft["tokenizer.ggml.model"] = .string("gpt2")
            draft["tokenizer.ggml.pre"] = .string(try preName(pre, tokenizer))
            draft["tokenizer.ggml.merges"] = .byteStrings(tokenizer.merges)
        case .characters where family.vocabulary.model == "gemma4":
            draft["tokenizer.ggml.model"] = .string("gemma4")
            draft["tokenizer.ggml.merges"] = .byteStrings(tokenizer.merges)
            draft["tokenizer.ggml.scores"] = .floats(Array(repeating: -1000, count: tokens.count))
        case .characters:
            draft["tokenizer.ggml.merges"] = .byteStrings(tokenizer.merges)
            if let bytes = try folder.contents("tokenizer.model") {
                let vocabulary = try SentencePieceModel(bytes, path: folder.path + "/tokenizer.model")
                try writePieces(vocabulary, added: tokenizer.added, size: tokens.count)
                return try writeSpecialTokens(special, tokens: tokens)
            }
            draft["tokenizer.ggml.model"] = .string("llama")
            draft["tokenizer.ggml.pre"] = .string("default")
            draft["tokenizer.ggml.scores"] = .floats(tokenizer.scores(count: tokens.count))
            if let space = settings?["add_prefix_space"]?.bool ?? tokenizer.addsSpacePrefix {
                draft["tokenizer.ggml.add_space_prefix"] = .bool(space)
            }
        case .words:
            draft["tokenizer.ggml.model"] = .string("bert")
            draft["tokenizer.ggml.pre"] = .string("jina-v2-en")
            for index in tokens.indices where ![3, 4].contains(kinds[index]) {
                let continuation = Array("##".utf8)
                tokens[index] =
                    tokens[index].starts(with: continuation)
                    ? Array(tokens[index].dropFirst(2)) : Array("\u{2581}".utf8) + tokens[index]
            }
        case .unigram(let unigram):
            draft["tokenizer.ggml.model"] = .string("t5")
            draft["tokenizer.ggml.pre"] = .string("default")
            let padding = Array(repeating: -10000.0, count: tokens.count - unigram.scores.count)
            draft["tokenizer.ggml.scores"] = .floats(unigram.scores + padding)
            draft["tokenizer.ggml.add_space_prefix"] = .bool(tokenizer.addsSpacePrefix ?? true)
            draft["tokenizer.ggml.remove_extra_whitespaces"] = .bool(unigram.removesExtraSpaces)
        }
        if !tokenizer.characterMap.isEmpty {
            draft["tokenizer.ggml.precompiled_charsmap"] = .uint8s(tokenizer.characterMap)
        }
        draft["tokenizer.ggml.tokens"] = .byteStrings(tokens)
        draft["tokenizer.ggml.token_type"] = .int32s(kinds)
        try writeSpecialTokens(special, tokens: tokenizer.tokens)
    }

    private func preName(_ pre: CheckpointTokenizer.Pre, _ tokenizer: CheckpointTokenizer) throws(ModelFileError)
        -> String
    {
        switch pre {
        case .named(let name): return name
        case .gpt2: return family.vocabulary.gpt2Name
        case .digits: return family.vocabulary.digitsName
        case .llama3: return family.vocabulary.llama3Name ?? (tokenizer.rules.ignoresMerges ? "llama-bpe" : "dbrx")
        case .unknown(let text):
            throw ModelFileError(
                .unsupported, "'pre_tokenizer': the pattern \(text) belongs to no known pre-tokenizer.",
                path: folder.path + "/tokenizer.json")
        }
    }

    /// The added tokens of a folder without `tokenizer.json`: in `tokenizer_config.json`, or `added_tokens.json` of older
    /// libraries.
    private func addedTokens(
        _ settings: JSON?, after pieces: Int
    ) throws(ModelFileError) -> [CheckpointTokenizer.Added] {
        let older = try folder.json("added_tokens.json")?.object?.members ?? []
        let newer = settings?["added_tokens_decoder"]?.object?.members ?? []
        let limit = pieces + older.count + newer.count + 1000
        var added: [Int: CheckpointTokenizer.Added] = [:]
        func add(_ id: Int?, _ text: [UInt8]?, isSpecial: Bool, in file: String) throws(ModelFileError) {
            guard let id, let text, (0..<limit).contains(id) else {
                throw ModelFileError(
                    .malformed, "An added token has no text, or no id from 0 to \(limit - 1).",
                    path: folder.path + "/" + file)
            }
            added[id] = CheckpointTokenizer.Added(id: id, text: text, isSpecial: isSpecial)
        }
        for (text, id) in older { try add(id.int, Array(text.utf8), isSpecial: false, in: "added_tokens.json") }
        for (id, token) in newer {
            try add(
                Int(id), token["content"]?.utf8, isSpecial: token["special"]?.bool == true,
                in: "tokenizer_config.json")
        }
        return added.values.sorted { $0.id < $1.id }
    }

    /// Writes a SentencePiece vocabulary with its added tokens; returns the texts of all tokens.
    @discardableResult
    private mutating func writePieces(
        _ vocabulary: SentencePieceModel, added: [CheckpointTokenizer.Added], size: Int = 0
    ) throws(ModelFileError) -> [[UInt8]] {
        var pieces = vocabulary.pieces
        let count = max(size, pieces.count, (added.map(\.id).max() ?? -1) + 1)
        for index in pieces.count..<max(count, pieces.count) {
            pieces.append(.init(text: Array("[PAD\(index)]".utf8), score: -10000, kind: 5))
        }
        for token in added {
            pieces[token.id] = .init(text: token.text, score: -1000, kind: token.kind)
        }
        draft["tokenizer.ggml.model"] = .string("llama")
        draft["tokenizer.ggml.pre"] = .string("default")
        draft["tokenizer.ggml.tokens"] = .byteStrings(pieces.map(\.text))
        draft["tokenizer.ggml.scores"] = .floats(pieces.map { Double($0.score) })
        draft["tokenizer.ggml.token_type"] = .int32s(pieces.map(\.kind))
        if let space = try folder.json("tokenizer_config.json")?["add_prefix_space"]?.bool {
            draft["tokenizer.ggml.add_space_prefix"] = .bool(space)
        }
        return pieces.map(\.text)
    }

    private mutating func writeSpecialTokens(
        _ special: CheckpointSpecialTokens, tokens: [[UInt8]]
    ) throws(ModelFileError) {
        for (role, text) in family.vocabulary.specialTokens where special.ids[role] == nil || role == "eos" {
            if let id = tokens.firstIndex(of: Array(text.utf8)) {
                if special.ids[role] == nil { draft["tokenizer.ggml.\(role)_token_id"] = .uint32(id) }
            }
        }
        let names = [
            "bos": "bos", "eos": "eos", "unk": "unknown", "sep": "seperator", "pad": "padding", "cls": "cls",
            "mask": "mask", "eot": "eot", "eom": "eom",
        ]
        for (role, id) in special.ids {
            guard let name = names[role], (0..<tokens.count).contains(id) else { continue }
            draft["tokenizer.ggml.\(name)_token_id"] = .uint32(id)
        }
        let ends =
            try [special.ids["eos"]].compactMap { $0 } + config.tokens("eos_token_id") + generation.endTokens
        // Models with less tokens than their configuration says never generate the others.
        let known = ends.enumerated().filter { (0..<tokens.count).contains($1) && !ends[..<$0].contains($1) }.map(
            \.element)
        if let first = known.first, draft["tokenizer.ggml.eos_token_id"] == nil {
            draft["tokenizer.ggml.eos_token_id"] = .uint32(first)
        }
        if known.count > 1 { draft["tokenizer.ggml.eos_token_ids"] = .int32s(known) }
        for (role, adds) in special.adds where ["bos", "eos", "sep"].contains(role) {
            draft["tokenizer.ggml.add_\(role)_token"] = .bool(adds)
        }
        if let lowercase = special.lowercase { draft["tokenizer.ggml.normalizer.lowercase"] = .bool(lowercase) }
        if let strips = special.stripsAccents { draft["tokenizer.ggml.normalizer.strip_accents"] = .bool(strips) }
    }
}

/// Special tokens: IDs by role (`bos`, `eos`, `unk`, …), and which of them are added around a text.
struct CheckpointSpecialTokens {
    private(set) var ids: [String: Int] = [:]
    private(set) var adds: [String: Bool] = [:]
    private(set) var lowercase: Bool?
    private(set) var stripsAccents: Bool?

    private static let roles = ["bos", "eos", "unk", "sep", "pad", "cls", "mask"]

    /// - Parameters:
    ///   - tokenizer: `tokenizer.json`, if there is one.
    ///   - tokens: The tokens by ID.
    ///   - map: `special_tokens_map.json`, where older libraries name the tokens.
    init(
        tokenizer: JSON? = nil, tokens: [[UInt8]], _ settings: JSON?, _ map: JSON?,
        config: CheckpointConfig
    ) {
        var texts: [String: String] = [:]
        for role in Self.roles {
            for source in [settings, map] where texts[role] == nil {
                texts[role] = source?["\(role)_token"]?.string ?? source?["\(role)_token"]?["content"]?.string
            }
        }
        texts["bos"] = texts["bos"] ?? texts["cls"]
        texts["eos"] = texts["eos"] ?? texts["sep"]
        if let tokenizer {
            readNormalizer(tokenizer["normalizer"])
            if let text = tokenizer["model"]?["unk_token"]?.string { texts["unk"] = text }
            if let id = tokenizer["model"]?["unk_id"]?.int { ids["unk"] = id }
            let processor = tokenizer["post_processor"]
            for step in processor?["processors"]?.array ?? processor.map({ [$0] }) ?? [] {
                readPostProcessor(step, &texts)
            }
            // BERT's tokenizers always use these, with a post-processor or without.
            if tokenizer["model"]?["type"]?.string == "WordPiece" {
                texts["sep"] = texts["sep"] ?? texts["eos"]
                texts["cls"] = texts["cls"] ?? texts["bos"]
            }
        }
        var idByText: [String: Int] = [:]
        for token in tokenizer?["added_tokens"]?.array ?? [] {
            if let text = token["content"]?.string, let id = token["id"]?.int { idByText[text] = idByText[text] ?? id }
        }
        for (role, text) in texts where ids[role] == nil {
            if let id = idByText[text] ?? tokens.firstIndex(of: Array(text.utf8)) { ids[role] = id }
        }
        for role in Self.roles {
            if let value = settings?["add_\(role)_token"]?.bool, adds[role] == nil { adds[role] = value }
            // Without a post-processor a published tokenizer adds nothing.
            if tokenizer != nil, adds[role] == nil, ["bos", "eos"].contains(role) { adds[role] = false }
            guard ids[role] == nil, let entry = config["\(role)_token_id"] else { continue }
            // Of several end tokens: the first, or the tokenizer's own.
            ids[role] = entry.int ?? entry.array?.first?.int
        }
    }

    private mutating func readNormalizer(_ normalizer: JSON?) {
        switch normalizer?["type"]?.string {
        case "Lowercase": lowercase = true
        case "StripAccents": stripsAccents = true
        case "BertNormalizer":
            lowercase = normalizer?["lowercase"]?.bool ?? lowercase
            stripsAccents = normalizer?["strip_accents"]?.bool ?? stripsAccents
        case "Sequence": for step in normalizer?["normalizers"]?.array ?? [] { readNormalizer(step) }
        default: break
        }
    }

    private mutating func readPostProcessor(_ step: JSON, _ texts: inout [String: String]) {
        switch step["type"]?.string {
        case "ByteLevel": for role in ["bos", "eos"] where adds[role] == nil { adds[role] = false }
        case "RobertaProcessing", "BertProcessing":
            for role in ["bos", "eos", "sep"] { adds[role] = true }
            for (role, name) in [("bos", "cls"), ("eos", "sep"), ("sep", "sep")] {
                if let text = step[name]?.array?.first?.string { texts[role] = text }
            }
        case "TemplateProcessing":
            let single = step["single"]?.array ?? []
            func special(_ entry: JSON?) -> String? { entry?["SpecialToken"]?["id"]?.string }
            for role in ["bos", "eos"] { adds[role] = false }
            guard single.count > 1 else { return }
            if let first = special(single.first) {
                texts["bos"] = first
                adds["bos"] = true
            }
            let last = special(single.last)
            if let last {
                texts["eos"] = last
                adds["eos"] = true
            }
            // The tokens between the texts of a pair: the end token of the first text, if it has one, then the separator.
            let pair = step["pair"]?.array ?? []
            func place(_ sequence: String) -> Int? { pair.firstIndex { $0["Sequence"]?["id"]?.string == sequence } }
            if let a = place("A"), let b = place("B"), b > a + 1 {
                let between = pair[(a + 1)..<b].dropFirst(last == nil ? 0 : 1).compactMap { special($0) }
                adds["sep"] = between.contains { $0 == texts["sep"] || $0 == texts["eos"] }
            }
        default: break
        }
    }
}
