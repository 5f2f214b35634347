/// Tokens whose role follows from their text, since files omit it: the lists of llama.cpp's `llama-vocab.cpp`.
struct KnownTokens {
    private var ids: [String: Int32] = [:]

    init(_ tokens: [[UInt8]]) {
        let known = Set(Self.all.map { Array($0.utf8) })
        let longest = known.map(\.count).max() ?? 0
        for (id, text) in tokens.enumerated() where text.count <= longest && Self.mayBegin(text) {
            if known.contains(text) { ids[String(decoding: text, as: UTF8.self)] = Int32(id) }
        }
    }

    subscript(text: String) -> Int32? { ids[text] }

    /// Tokens that end generation.
    var endings: [Int32] { Self.endingTexts.compactMap { ids[$0] } }
    /// Fill-in-the-middle tokens such as `<|fim_prefix|>`, which must not be parsed in a user's text.
    var fillInMiddle: [Int32] { [Self.prefixTexts, Self.suffixTexts, Self.middleTexts].compactMap { first($0) } }
    var fillInMiddlePrefix: Int32? { first(Self.prefixTexts) }
    var fillInMiddleSuffix: Int32? { first(Self.suffixTexts) }
    var fillInMiddleMiddle: Int32? { first(Self.middleTexts) }
    var fillInMiddlePad: Int32? { first(Self.padTexts) }
    var fillInMiddleRepository: Int32? { first(Self.repositoryTexts) }
    var fillInMiddleSeparator: Int32? { ids["<|file_sep|>"] }
    /// Tokens of gpt-oss's message format: not text, but clients have to see them.
    var alwaysShown: [Int32] { Self.frameTexts.compactMap { ids[$0] } }

    /// `<|end|>` in models in which another token ends the turn (gpt-oss, solar-open).
    var endThatContinues: Int32? {
        let harmony = ids["<|return|>"] != nil && (ids["<|call|>"] != nil || ids["<|calls|>"] != nil)
        let solar = ids["<|flush|>"] != nil && (ids["<|call|>"] != nil || ids["<|calls|>"] != nil)
        return harmony || solar ? ids["<|end|>"] : nil
    }

    /// `</s>` in models in which it is an HTML tag (Gemma 4, PLaMo).
    var endThatIsText: Int32? {
        ids["<|tool_response>"] != nil || ids["<|plamo:eos|>"] != nil ? ids["</s>"] : nil
    }

    private func first(_ texts: [String]) -> Int32? { texts.lazy.compactMap { ids[$0] }.first }

    /// A quick check that excludes most tokens, to keep loading fast.
    private static func mayBegin(_ text: [UInt8]) -> Bool {
        guard let first = text.first else { return false }
        return first == UInt8(ascii: "<") || first == UInt8(ascii: "[") || first == UInt8(ascii: "_") || first == 0xE2
    }

    private static let endingTexts = [
        "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>",
        "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>",
        "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~[",
    ]
    private static let prefixTexts = [
        "<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>",
        "<|prefix|>",
    ]
    private static let suffixTexts = [
        "<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>",
        "<|suffix|>",
    ]
    private static let middleTexts = [
        "<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>",
        "<|middle|>",
    ]
    private static let padTexts = ["<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"]
    private static let repositoryTexts = ["<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"]
    private static let frameTexts = ["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"]
    private static let otherTexts = ["<|file_sep|>", "<|plamo:eos|>", "<unk>", "<s>", "<mask>", "[MASK]"]

    private static let all = [
        endingTexts, prefixTexts, suffixTexts, middleTexts, padTexts, repositoryTexts, frameTexts, otherTexts,
    ].joined()
}
