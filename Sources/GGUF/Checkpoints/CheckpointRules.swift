import JSON
import Foundation
import Tokenizer

/// The parts of a `tokenizer.json` beside its vocabulary, each of which is obeyed or refused by name.
struct CheckpointRules {
    private let json: JSON
    private let path: String
    private(set) var rules = PublishedRules()
    /// SentencePiece's compiled table of character replacements.
    private(set) var characterMap: [UInt8] = []

    /// - Parameter tokens: The tokens by ID.
    init(_ json: JSON, _ kind: CheckpointTokenizer.Kind, tokens: [[UInt8]], path: String) throws(ModelFileError) {
        (self.json, self.path) = (json, path)
        try readModel(kind, tokens)
        if let normalizer = json["normalizer"] { try readNormalizer(normalizer) }
        switch kind {
        case .bytes: try readBytes()
        case .characters: try readCharacters()
        case .words: try readWords()
        case .unigram: try readUnigram()
        }
        try checkPostProcessor()
    }

    private func unsupported(_ part: String, _ what: String) -> ModelFileError {
        ModelFileError(.unsupported, "'\(part)': \(what) is not supported.", path: path)
    }

    // MARK: Model

    private mutating func readModel(_ kind: CheckpointTokenizer.Kind, _ tokens: [[UInt8]]) throws(ModelFileError) {
        guard let model = json["model"] else { return }
        if let dropout = model["dropout"]?.double, dropout != 0 { throw unsupported("model", "'dropout' \(dropout)") }
        if let suffix = model["end_of_word_suffix"]?.string, !suffix.isEmpty {
            throw unsupported("model", "'end_of_word_suffix' '\(suffix)'")
        }
        var prefix = ""
        if case .words = kind { prefix = "##" }
        if let found = model["continuing_subword_prefix"]?.string, found != prefix {
            throw unsupported("model", "'continuing_subword_prefix' '\(found)'")
        }
        rules.ignoresMerges = model["ignore_merges"]?.bool == true
        let isFallback = model["byte_fallback"]?.bool == true
        if case .unigram = kind, isFallback { throw unsupported("model", "'byte_fallback' of Unigram") }
        if case .characters = kind {
            let known = Set(tokens)
            let missing = (0..<256).map { Array(String(format: "<0x%02X>", $0).utf8) }.first { !known.contains($0) }
            if let missing {
                throw unsupported(
                    "model", "'byte_fallback' without the token '\(String(decoding: missing, as: UTF8.self))'")
            }
        }
        if case .words = kind {
            rules.maximumWordLength = max(0, model["max_input_chars_per_word"]?.int ?? 100)
        }
    }

    // MARK: Normalizer

    private mutating func readNormalizer(_ step: JSON) throws(ModelFileError) {
        let steps: [NormalizationStep]
        switch step["type"]?.string {
        case "Sequence":
            for part in step["normalizers"]?.array ?? [] { try readNormalizer(part) }
            return
        case "NFC": steps = [.nfc]
        case "NFD": steps = [.nfd]
        case "NFKC": steps = [.nfkc]
        case "NFKD": steps = [.nfkd]
        case "Lowercase": steps = [.lowercase]
        case "StripAccents": steps = [.stripAccents]
        case "Nmt": steps = [.nmt]
        case "Strip":
            steps =
                (step["strip_left"]?.bool != false ? [.stripLeft] : [])
                + (step["strip_right"]?.bool != false ? [.stripRight] : [])
        case "Prepend": steps = [.prepend(step["prepend"]?.string ?? "")]
        case "Replace": steps = [try replacement(step)]
        case "BertNormalizer": steps = Self.bert(step)
        case "Precompiled":
            guard let text = step["precompiled_charsmap"]?.string, let map = Data(base64Encoded: text),
                characterMap.isEmpty
            else { throw unsupported("normalizer", "'Precompiled' without 'precompiled_charsmap', or twice,") }
            characterMap = Array(map)
            steps = [.precompiled]
        case let type: throw unsupported("normalizer", "'\(type ?? "a step without a type")'")
        }
        rules.normalizer += steps
    }

    private func replacement(_ step: JSON) throws(ModelFileError) -> NormalizationStep {
        let content = step["content"]?.string ?? ""
        if let text = step["pattern"]?["String"]?.string { return .replace(text, with: content) }
        let pattern = step["pattern"]?["Regex"]?.string ?? ""
        guard [" {2,}", "[ ]{2,}"].contains(pattern) else {
            throw unsupported("normalizer", "'Replace' of the pattern '\(pattern)'")
        }
        return .replaceSpaces(with: content)
    }

    private static func bert(_ step: JSON) -> [NormalizationStep] {
        let lowercases = step["lowercase"]?.bool ?? true
        return (step["clean_text"]?.bool ?? true ? [.clean] : [])
            + (step["handle_chinese_chars"]?.bool ?? true ? [.isolateIdeographs] : [])
            + (step["strip_accents"]?.bool ?? lowercases ? [.nfd, .stripNonspacing] : [])
            + (lowercases ? [.lowercase] : [])
    }

    // MARK: Pre-tokenizer and decoder

    /// The steps of a part, without the sequences that hold them.
    private func steps(_ part: String, _ list: String) -> [JSON] {
        var found: [JSON] = []
        func collect(_ step: JSON, _ depth: Int) {
            guard step["type"]?.string == "Sequence", depth < 8 else { return found.append(step) }
            for inner in step[list]?.array ?? [] { collect(inner, depth + 1) }
        }
        if let root = json[part] { collect(root, 0) }
        return found
    }

    private var cuts: [JSON] { steps("pre_tokenizer", "pretokenizers") }
    private var decoders: [JSON] { steps("decoder", "decoders") }

    private func names(_ steps: [JSON]) -> String {
        steps.isEmpty ? "null" : steps.map { "'\($0["type"]?.string ?? "?")'" }.joined(separator: " and ")
    }

    private mutating func readBytes() throws(ModelFileError) {
        // The expressions are those of a known pre-tokenizer: the caller has looked.
        let spaced = cuts.filter { $0["type"]?.string == "ByteLevel" && $0["add_prefix_space"]?.bool == true }
        if !spaced.isEmpty {
            guard cuts.count == 1 else {
                throw unsupported("pre_tokenizer", "'ByteLevel' with 'add_prefix_space' after another step")
            }
            rules.spacePrefix = .each
        }
        guard decoders.count == 1, decoders[0]["type"]?.string == "ByteLevel" else {
            throw unsupported("decoder", "\(names(decoders)) of byte-level BPE")
        }
    }

    private mutating func readCharacters() throws(ModelFileError) {
        let replacesSpaces = rules.normalizer.contains(.replace(" ", with: "\u{2581}"))
        switch (cuts.count, cuts.first?["type"]?.string) {
        case (0, _): break
        case (1, "Metaspace"): try readMetaspace(cuts[0])
        // No spaces are left to split at.
        case (1, "Split") where replacesSpaces && cuts[0]["pattern"]?["String"]?.string == " ": break
        default: throw unsupported("pre_tokenizer", "\(names(cuts)) of BPE with byte tokens")
        }
        var rest = decoders[...]
        if rest.first?["type"]?.string == "Replace", rest.first?["pattern"]?["String"]?.string == "\u{2581}",
            rest.first?["content"]?.string == " "
        {
            rest.removeFirst()
            let types = rest.map { $0["type"]?.string ?? "" }
            if types == ["ByteFallback", "Fuse"] { return }
            if types == ["ByteFallback", "Fuse", "Strip"], let strip = rest.last, strip["content"]?.string == " ",
                strip["start"]?.int == 1, (strip["stop"]?.int ?? 0) == 0
            {
                rules.stripsSpace = true
                return
            }
        }
        throw unsupported("decoder", "\(names(decoders)) of BPE with byte tokens")
    }

    private mutating func readMetaspace(_ step: JSON) throws(ModelFileError) {
        guard step["replacement"]?.string ?? "\u{2581}" == "\u{2581}" else {
            throw unsupported("pre_tokenizer", "'Metaspace' with another symbol than '\u{2581}'")
        }
        rules.escapesSpaces = true
        rules.splitsAtSpaces = step["split"]?.bool ?? true
        switch Self.scheme(step) {
        case "always": rules.spacePrefix = .each
        case "first": rules.spacePrefix = .first
        case "never": rules.spacePrefix = .never
        case let scheme: throw unsupported("pre_tokenizer", "'Metaspace' with 'prepend_scheme' '\(scheme)'")
        }
    }

    private static func scheme(_ step: JSON) -> String {
        step["prepend_scheme"]?.string ?? (step["add_prefix_space"]?.bool == false ? "never" : "always")
    }

    private mutating func readWords() throws(ModelFileError) {
        guard cuts.count == 1, cuts[0]["type"]?.string == "BertPreTokenizer" else {
            throw unsupported("pre_tokenizer", "\(names(cuts)) of WordPiece")
        }
        guard decoders.count == 1, decoders[0]["type"]?.string == "WordPiece",
            decoders[0]["prefix"]?.string ?? "##" == "##"
        else { throw unsupported("decoder", "\(names(decoders)) of WordPiece") }
        rules.tidiesPunctuation = decoders[0]["cleanup"]?.bool ?? true
        rules.stripsSpace = true
    }

    private mutating func readUnigram() throws(ModelFileError) {
        let types = cuts.map { $0["type"]?.string }
        switch types {
        case ["Metaspace"]: try readMetaspace(cuts[0])
        case ["WhitespaceSplit", "Metaspace"]:
            try readMetaspace(cuts[1])
            guard rules.spacePrefix == .each else {
                throw unsupported(
                    "pre_tokenizer", "'WhitespaceSplit' before a 'Metaspace' that is not put before each word")
            }
            (rules.spacePrefix, rules.splitsAtSpaces) = (.words, true)
        default: throw unsupported("pre_tokenizer", "\(names(cuts)) of Unigram")
        }
        guard decoders.count == 1, decoders[0]["type"]?.string == "Metaspace",
            decoders[0]["replacement"]?.string ?? "\u{2581}" == "\u{2581}"
        else { throw unsupported("decoder", "\(names(decoders)) of Unigram") }
        rules.stripsSpace = Self.scheme(decoders[0]) != "never"
    }

    // MARK: Special tokens around a text

    private func checkPostProcessor() throws(ModelFileError) {
        var templates = 0
        for step in steps("post_processor", "processors") {
            switch step["type"]?.string {
            case "ByteLevel": continue
            case "RobertaProcessing", "BertProcessing": templates += 1
            case "TemplateProcessing":
                templates += 1
                let single = step["single"]?.array ?? []
                let text = single.firstIndex { $0["Sequence"]?["id"]?.string == "A" }
                guard let text, text <= 1, single.count - text <= 2 else {
                    throw unsupported("post_processor", "a template of \(single.count) parts")
                }
                for (_, token) in step["special_tokens"]?.object?.members ?? []
                where token["ids"]?.array?.count ?? 1 != 1 {
                    throw unsupported("post_processor", "a special token of several IDs")
                }
            case let type: throw unsupported("post_processor", "'\(type ?? "?")'")
            }
        }
        if templates > 1 { throw unsupported("post_processor", "more than one template") }
    }

    /// Sets how the added tokens are found.
    mutating func add(_ tokens: [CheckpointTokenizer.Added]) {
        for token in tokens { rules.added[Int32(clamping: token.id)] = token.rule }
    }
}

extension GGUFDraft {
    /// Writes a tokenizer's rules as this package's keys.
    mutating func set(_ rules: PublishedRules) {
        let added = rules.added.sorted { $0.key < $1.key }.flatMap { [Int($0.key), Int($0.value.rawValue)] }
        self["tokenizer.json.added_tokens"] = .int32s(added)
        self["tokenizer.json.normalizer"] = .strings(NormalizationStep.names(of: rules.normalizer))
        self["tokenizer.json.ignore_merges"] = .bool(rules.ignoresMerges)
        self["tokenizer.json.space_prefix"] = .string(rules.spacePrefix.rawValue)
        self["tokenizer.json.escape_spaces"] = .bool(rules.escapesSpaces)
        self["tokenizer.json.split_at_spaces"] = .bool(rules.splitsAtSpaces)
        self["tokenizer.json.strip_space"] = .bool(rules.stripsSpace)
        self["tokenizer.json.tidy_punctuation"] = .bool(rules.tidiesPunctuation)
        if let length = rules.maximumWordLength { self["tokenizer.json.max_input_chars_per_word"] = .uint32(length) }
    }
}
