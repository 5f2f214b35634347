/// The algorithm and the defaults that follow from `tokenizer.ggml.model` and `tokenizer.ggml.pre`.
struct TokenizerScheme {
    enum Kind {
        case bytePair(PreTokenizerFamily)
        case sentencePiece
        case wordPiece
        case unigram
    }

    let kind: Kind
    var defaultIDs = Vocabulary.DefaultIDs()
    var addsSpacePrefix = false
    var addsBeginningOfSequence = false
    var addsEndOfSequence = false
    var addsSeparator = false
    /// Whether the beginning-of-sequence token is added even if the file says not to.
    var mustBegin = false

    init(_ description: TokenizerDescription) throws(TokenizerError) {
        switch description.model {
        case "gpt2", "gemma4":
            let isGemma = description.model == "gemma4"
            // Files from before `tokenizer.ggml.pre` existed have none; llama.cpp treats them as "default" too.
            let pre = isGemma ? "gemma4" : description.pre.flatMap { $0.isEmpty ? nil : $0 } ?? "default"
            guard let family = PreTokenizerFamily.named(pre) else {
                throw .unknownPreTokenizer(pre, model: description.model)
            }
            guard description.merges != nil || pre == "kimi-k2" else {
                throw .missing(field: "tokenizer.ggml.merges", model: description.model)
            }
            kind = .bytePair(isGemma && description.rules != nil ? .characters : family)
            // 11 is Falcon's <|endoftext|>; Falcon's files were the first with this model.
            if !isGemma { defaultIDs = .init(beginning: family.hasNoDefaultBeginning ? nil : 11, end: 11) }
            addsBeginningOfSequence = family.addsBeginningOfSequence
            addsSeparator = ["jina-v1-en", "jina-v2-code", "roberta-bpe"].contains(pre)
            mustBegin = pre == "gemma4" || pre == "granite-embed-multi-311m"
        case "llama":
            // The merges of the published tokenizer: scores give the same tokens only if each merge follows from them.
            let hasMerges = description.rules != nil && description.merges != nil
            kind = hasMerges ? .bytePair(.characters) : .sentencePiece
            defaultIDs = .init(beginning: 1, end: 2, unknown: 0)
            addsSpacePrefix = true
            addsBeginningOfSequence = true
        case "bert":
            kind = .wordPiece
            addsSeparator = true
            defaultIDs = .init(beginning: 101, unknown: 100, separator: 102)
            mustBegin = true
        case "t5":
            kind = .unigram
            defaultIDs = .init(end: 1, unknown: 2)
            addsEndOfSequence = true
        default:
            throw .unknownModel(description.model)
        }
    }

    func algorithm(
        _ description: TokenizerDescription, _ vocabulary: Vocabulary
    ) throws(TokenizerError) -> TextTokenizer.Algorithm {
        let unknown = vocabulary.unknown
        return switch kind {
        case .bytePair(let family): .bytePair(try BytePairEncoder(description, family, unknown: unknown))
        case .sentencePiece: .sentencePiece(SentencePieceEncoder(description, unknown: unknown))
        case .wordPiece: .wordPiece(try WordPieceEncoder(description, unknown: unknown))
        case .unigram: .unigram(try UnigramEncoder(description, vocabulary.kinds, unknown: unknown))
        }
    }

    /// The text of each token. Empty for tokens that are never shown.
    func texts(of tokens: [[UInt8]], _ kinds: [TokenKind], _ rules: PublishedRules? = nil) -> ByteStrings {
        var isByteLevel = false
        if case .bytePair(let family) = kind { isByteLevel = !family.isCharacterLevel }
        var texts = ByteStrings(capacity: tokens.count)
        var text: [UInt8] = []
        for (token, kind) in zip(tokens, kinds) {
            if kind.isSpecial {
                text.removeAll(keepingCapacity: true)
                if rules == nil || isByteLevel { text = token } else { unescapeSpaces(token, into: &text) }
                texts.append(text)
            } else if kind.contains(.byte) {
                texts.append(Self.byte(token).map { [$0] } ?? [])
            } else if kind.contains(.normal) {
                text.removeAll(keepingCapacity: true)
                if !isByteLevel {
                    unescapeSpaces(token, into: &text)
                } else if !ByteAlphabet.decode(token[...], into: &text) {
                    text = token
                }
                if rules?.tidiesPunctuation == true, text.count > 1, text[0] == 0x20, ".,?!".utf8.contains(text[1]) {
                    text.removeFirst()
                }
                texts.append(text)
            } else {
                texts.append([])
            }
        }
        return texts
    }

    /// The byte of a token like `<0x0A>`.
    private static func byte(_ text: [UInt8]) -> UInt8? {
        guard text.count == 6, text.starts(with: [0x3C, 0x30, 0x78]), text[5] == 0x3E else { return nil }
        return UInt8(String(decoding: text[3..<5], as: UTF8.self), radix: 16)
    }
}
