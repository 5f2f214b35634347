import JSON
import Foundation
import Tokenizer

/// `tokenizer.json`: tokens, merges, and the pre-tokenizer.
struct CheckpointTokenizer {
    package enum Kind {
        /// Byte-level BPE, in GPT-2's byte alphabet.
        case bytes(Pre)
        /// Character-level BPE, with byte tokens for unknown characters.
        case characters
        /// WordPiece.
        case words
        case unigram(Unigram)
    }

    /// SentencePiece's Unigram, as XLM-RoBERTa uses it.
    struct Unigram {
        /// Log probabilities by ID.
        var scores: [Double]
        /// Whether runs of spaces become one, and those around the text are removed.
        let removesExtraSpaces: Bool
    }

    /// The pre-tokenizer.
    enum Pre {
        case named(String)
        case gpt2
        /// GPT-2's, with each digit separate.
        case digits
        /// Llama 3's.
        case llama3
        case unknown(String)
    }

    /// A token that is matched in the text before pre-tokenization.
    struct Added {
        let id: Int
        let text: [UInt8]
        /// llama.cpp's number: 3 for control tokens, 4 for user-defined ones.
        let kind: Int
        /// How it is found in text.
        let rule: AddedTokenRule

        /// - Parameter entry: Its entry in a file; `nil`: the file gives only text and ID.
        init(id: Int, text: [UInt8], isSpecial: Bool, _ entry: JSON? = nil) {
            let spelled = String(decoding: text, as: UTF8.self)
            let controls = isSpecial || CheckpointTokenizer.looksSpecial(spelled)
            self.id = id
            // User-defined tokens are matched in plain text, so SentencePiece's space symbol becomes a space.
            self.text = controls ? text : Array(spelled.replacing("\u{2581}", with: " ").utf8)
            kind = controls ? 3 : 4
            var rule: AddedTokenRule = self.text == text ? [] : .isEscaped
            if entry?["lstrip"]?.bool == true { rule.insert(.stripsLeft) }
            if entry?["rstrip"]?.bool == true { rule.insert(.stripsRight) }
            if entry?["single_word"]?.bool == true { rule.insert(.isSingleWord) }
            if entry?["normalized"]?.bool ?? !isSpecial { rule.insert(.isNormalized) }
            self.rule = rule
        }
    }

    let kind: Kind
    /// By ID; unassigned IDs have the text `[PAD…]`.
    private(set) var tokens: [[UInt8]]
    /// llama.cpp's numbers: 1 normal, 2 unknown, 3 control, 4 added, 5 unused, 6 a byte.
    private(set) var kinds: [Int]
    private(set) var merges: [[UInt8]] = []
    private(set) var added: [Added] = []
    /// The rules for text, beside the vocabulary.
    let rules: PublishedRules
    /// Whether a space is prepended to the text; `nil`: not declared.
    private(set) var addsSpacePrefix: Bool?
    /// SentencePiece's compiled table of character replacements; empty: none.
    let characterMap: [UInt8]
    private var rankByToken: [[UInt8]: Int] = [:]

    init(_ json: JSON, _ settings: JSON?, path: String) throws(ModelFileError) {
        func failure(_ reason: ModelFileError.Reason, _ message: String) -> ModelFileError {
            ModelFileError(reason, message, path: path)
        }
        guard let model = json["model"], let vocabulary = Self.vocabulary(model) else {
            throw failure(
                .unsupported,
                "'model' has no 'vocab' with the tokens' IDs or scores. Supported are BPE, WordPiece and Unigram.")
        }
        // IDs are indices into an array, so they are bounded by the number of entries in the file.
        let entries = vocabulary.count + (json["added_tokens"]?.array?.count ?? 0)
        let limit = 2 * entries + 100_000
        var places: [Int: [UInt8]] = [:]
        for (text, id) in vocabulary {
            guard let id, (0..<limit).contains(id) else {
                throw failure(
                    .malformed, "Token '\(String(decoding: text, as: UTF8.self))' has no id from 0 to \(limit - 1).")
            }
            places[id] = text
        }
        let type = model["type"]?.string ?? (model["vocab"]?.array == nil ? "BPE" : "Unigram")
        let isCharacters = type == "BPE" && model["byte_fallback"]?.bool == true
        for token in json["added_tokens"]?.array ?? [] {
            guard let id = token["id"]?.int, (0..<limit).contains(id), let text = token["content"]?.utf8 else {
                throw failure(.malformed, "An entry of 'added_tokens' has no text, or no id from 0 to \(limit - 1).")
            }
            let token = Added(id: id, text: text, isSpecial: token["special"]?.bool == true, token)
            places[id] = token.text
            added.append(token)
        }
        let count = (places.keys.max() ?? -1) + 1
        tokens = (0..<count).map { places[$0] ?? Array("[PAD\($0)]".utf8) }
        kinds = (0..<count).map { places[$0] == nil ? 5 : 1 }
        for token in added { kinds[token.id] = token.kind }
        switch type {
        case "WordPiece": kind = .words
        case "Unigram": kind = .unigram(Unigram(json, model, settings, count: count))
        case "BPE": kind = isCharacters ? .characters : .bytes(Self.pre(json))
        default:
            throw failure(
                .unsupported, "'model': the type '\(type)' is not supported; BPE, WordPiece and Unigram are.")
        }
        var parts = try CheckpointRules(json, kind, tokens: tokens, path: path)
        parts.add(added)
        rules = parts.rules
        characterMap = parts.characterMap
        switch kind {
        case .words: return
        case .unigram:
            addsSpacePrefix = Self.addsSpace(json)
            if let unknown = model["unk_id"]?.int, kinds.indices.contains(unknown) { kinds[unknown] = 2 }
            return
        case .bytes, .characters: break
        }
        for merge in model["merges"]?.array ?? [] {
            if let pair = merge.array, pair.count == 2, let left = pair[0].utf8, let right = pair[1].utf8 {
                merges.append(Self.spelled(left) + [0x20] + Self.spelled(right))
                rank(left + right)
            } else if let text = merge.utf8 {
                merges.append(text)
                rank(text.filter { $0 != 0x20 })
            } else {
                throw failure(.malformed, "'merges': entry \(merges.count) is not two texts.")
            }
        }
        if isCharacters {
            addsSpacePrefix = Self.addsSpace(json)
            for (id, text) in places where kinds[id] == 1 && Self.isByte(text) { kinds[id] = 6 }
            if let unknown = model["unk_token"]?.utf8, let id = tokens.firstIndex(of: unknown) { kinds[id] = 2 }
        }
    }

    /// The tokens with their IDs, which are their places if the vocabulary is a list of pairs.
    private static func vocabulary(_ model: JSON) -> [(text: [UInt8], id: Int?)]? {
        if let members = model["vocab"]?.object?.members { return members.map { (Array($0.utf8), $1.int) } }
        guard let pairs = model["vocab"]?.array else { return nil }
        var vocabulary: [(text: [UInt8], id: Int?)] = []
        for (id, pair) in pairs.enumerated() {
            guard let pair = pair.array, pair.count == 2, let text = pair[0].utf8, pair[1].double != nil else {
                return nil
            }
            vocabulary.append((text, id))
        }
        return vocabulary
    }

    private mutating func rank(_ token: [UInt8]) {
        if rankByToken[token] == nil { rankByToken[token] = rankByToken.count }
    }

    /// A score for each token, with which SentencePiece's algorithm reproduces the order of the merges.
    func scores(count: Int) -> [Double] {
        (0..<count).map { id in
            guard id < tokens.count, kinds[id] == 1 else { return -1000 }
            return -Double(rankByToken[tokens[id]] ?? rankByToken.count)
        }
    }

    /// Replaces spaces by SentencePiece's symbol, as llama.cpp's converter does.
    private static func spelled(_ part: [UInt8]) -> [UInt8] {
        part.contains(0x20) ? Array(String(decoding: part, as: UTF8.self).replacing(" ", with: "\u{120}").utf8) : part
    }

    /// Whether the text is a byte token such as `<0x0A>`.
    private static func isByte(_ text: [UInt8]) -> Bool {
        text.count == 6 && text.starts(with: Array("<0x".utf8)) && text[5] == UInt8(ascii: ">")
    }

    /// Whether llama.cpp's converter treats a token as a control token though it is not declared special.
    private static func looksSpecial(_ text: String) -> Bool {
        ["<pad>", "<mask>", "<2mass>", "[@BOS@]"].contains(text) || text.hasPrefix("<|") && text.hasSuffix("|>")
            || text.hasPrefix("<｜") && text.hasSuffix("｜>") || text.hasPrefix("<unused") && text.hasSuffix(">")
    }

    private static func addsSpace(_ json: JSON) -> Bool? {
        func steps(_ part: String, _ list: String) -> [JSON] {
            guard let step = json[part] else { return [] }
            return step[list]?.array ?? [step]
        }
        if let scheme = steps("pre_tokenizer", "pretokenizers").first(where: { $0["type"]?.string == "Metaspace" }) {
            return scheme["prepend_scheme"]?.string.map { $0 != "never" } ?? scheme["add_prefix_space"]?.bool
        }
        return steps("normalizer", "normalizers").contains { $0["type"]?.string == "Prepend" }
    }

    /// The pre-tokenizer, identified by its regular expressions.
    private static func pre(_ json: JSON) -> Pre {
        guard let root = json["pre_tokenizer"] else { return .unknown("nothing") }
        var rules: [String] = []
        for step in root["pretokenizers"]?.array ?? [root] {
            switch step["type"]?.string {
            case "ByteLevel": if step["use_regex"]?.bool ?? true { rules.append(gpt2) }
            case "Digits": rules.append(step["individual_digits"]?.bool == true ? "\\p{N}" : "\\p{N}+")
            case "Split":
                let isCut = step["behavior"]?.string == "Isolated" && step["invert"]?.bool != true
                let pattern = step["pattern"]?["Regex"]?.string ?? step["pattern"]?["String"]?.string
                rules.append(isCut ? pattern ?? "?" : "Split of another behavior")
            case let type: rules.append(type ?? "?")
            }
        }
        return known[rules] ?? .unknown(rules.map { "'\($0)'" }.joined(separator: " and "))
    }

    private static let gpt2 = #"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"#
    private static let contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    private static let ending = #"|\s*[\r\n]+|\s+(?!\S)|\s+"#
    private static let upper = #"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"#
    private static let lower = #"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"#

    /// GPT-4o's expression, in which words begin with capitals.
    private static func capitalized(_ contractions: String, digits: String, punctuation: String) -> String {
        let lead = #"[^\r\n\p{L}\p{N}]?"#
        return "\(lead)\(upper)*\(lower)+\(contractions)|\(lead)\(upper)+\(lower)*\(contractions)|\(digits)"
            + punctuation + ending
    }

    private static func llama(letters: String, digits: String, others: String) -> String {
        contractions + #"|[^\r\n\p{L}\p{N}]?"# + letters + "+|" + digits + "| ?[^" + others + "]+[\\r\\n]*" + ending
    }

    private static let known: [[String]: Pre] = {
        let others = #"\s\p{L}\p{N}"#
        let slashes = #"| ?[^\s\p{L}\p{N}]+[\r\n/]*"#
        return [
            [gpt2]: .gpt2, ["\\p{N}", gpt2]: .digits,
            [llama(letters: #"\p{L}"#, digits: #"\p{N}{1,3}"#, others: others)]: .llama3,
            [llama(letters: #"\p{L}"#, digits: #"\p{N}"#, others: others)]: .named("qwen2"),
            [llama(letters: #"[\p{L}\p{M}]"#, digits: #"\p{N}"#, others: #"\s\p{L}\p{M}\p{N}"#)]: .named("qwen35"),
            [capitalized(contractions + "?", digits: #"\p{N}{1,3}"#, punctuation: slashes)]: .named("gpt-4o"),
            [capitalized("", digits: #"\p{N}"#, punctuation: slashes)]: .named("tekken"),
        ]
    }()
}

extension CheckpointTokenizer.Unigram {
    /// - Parameter count: Number of tokens; those that are not in the model's list have the score 0.
    fileprivate init(_ json: JSON, _ model: JSON, _ settings: JSON?, count: Int) {
        scores = Array(repeating: 0, count: count)
        for (id, pair) in (model["vocab"]?.array ?? []).enumerated() where id < count {
            scores[id] = pair.array?.last?.double ?? 0
        }
        let normalizer = json["normalizer"]
        let steps = normalizer?["normalizers"]?.array ?? normalizer.map { [$0] } ?? []
        let cutter = json["pre_tokenizer"]
        let cuts = cutter?["pretokenizers"]?.array ?? cutter.map { [$0] } ?? []
        removesExtraSpaces =
            cuts.contains { $0["type"]?.string == "WhitespaceSplit" }
            || steps.contains { $0["pattern"]?["Regex"]?.string == " {2,}" }
            || settings?["clean_up_tokenization_spaces"]?.bool == true
    }
}
