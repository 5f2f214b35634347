/// The pre-tokenizer that `tokenizer.ggml.pre` names, with properties that files do not declare.
///
/// Names and expressions are those of llama.cpp's `llama-vocab.cpp`, which has them from each model's `tokenizer.json`.
struct PreTokenizerFamily: Sendable {
    var passes: [PreTokenizer.Pass]
    /// A piece that is a token is used without merging.
    var ignoresMerges = false
    /// Default if the file has no `tokenizer.ggml.add_bos_token`.
    var addsBeginningOfSequence = false
    /// Whether there is no beginning-of-sequence token unless the file names one. Otherwise the default is 11, as in
    /// the oldest files.
    var hasNoDefaultBeginning = false
    /// Merges are of UTF-8 characters, with "▁" for the space, not of bytes; bytes have tokens such as `<0x0A>`.
    var isCharacterLevel = false
    /// A run of line feeds that is a token is used without merging, unlike other pieces.
    var takesLineEndsWhole = false

    init(_ passes: PreTokenizer.Pass...) { self.passes = passes }

    /// Merges of characters, in text that is not split.
    static let characters = PreTokenizerFamily().with { $0.isCharacterLevel = true }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var family = self
        change(&family)
        return family
    }

    /// The family of a name; `nil` if it is unknown.
    static func named(_ name: String) -> PreTokenizerFamily? { byName[name] }

    static var names: [String] { byName.keys.sorted() }

    private static let byName: [String: PreTokenizerFamily] = {
        var result: [String: PreTokenizerFamily] = [:]
        for (names, family) in table {
            for name in names.split(separator: " ") { result[String(name)] = family }
        }
        return result
    }()

    private static let table: [(names: String, PreTokenizerFamily)] = [
        ("default", PreTokenizerFamily(.runs(.init(set: markup)), gpt2, numbers(), threeDigits)),
        (
            "gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de jina-v1-en jina-v2-code roberta-bpe gigachat a.x-4.0 "
                + "mellum modern-bert mpt olmo jais trillion granite-docling exaone4", PreTokenizerFamily(gpt2)
        ),
        (
            "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
            PreTokenizerFamily(numbers(upTo: 1), gpt2)
        ),
        ("falcon", PreTokenizerFamily(.runs(.init(set: markupAndBacktick)), gpt2, threeDigits)),
        (
            "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
            PreTokenizerFamily(llama3).with {
                $0.ignoresMerges = true
                $0.addsBeginningOfSequence = true
            }
        ),
        ("dbrx smaug-bpe", PreTokenizerFamily(llama3)),
        ("chatglm-bpe", PreTokenizerFamily(llama3).with { $0.hasNoDefaultBeginning = true }),
        (
            "glm4 glm5",
            PreTokenizerFamily(llama3).with {
                $0.ignoresMerges = true
                $0.hasNoDefaultBeginning = true
            }
        ),
        ("jais-2", PreTokenizerFamily(words { $0.whitespace = .powersOfTwo })),
        (
            "minicpm5",
            PreTokenizerFamily(numbers(upTo: 3), words { $0.digits = .max }).with { $0.ignoresMerges = true }
        ),
        (
            "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2", PreTokenizerFamily(qwen2)
        ),
        ("laguna", PreTokenizerFamily(lines, qwen2)),
        ("ufakzeka", PreTokenizerFamily(words { ($0.digits, $0.contraction) = (1, .never) })),
        (
            "qwen35",
            PreTokenizerFamily(
                words {
                    $0.digits = 1
                    $0.letters = [.letter, .mark]
                    $0.punctuation = [.punctuation, .symbol, .other]
                })
        ),
        ("bailingmoe bailingmoe2 llada-moe", PreTokenizerFamily(qwen2)),
        ("seed-coder", PreTokenizerFamily(words { ($0.digits, $0.punctuationTail) = (1, .none) })),
        (
            "exaone-moe",
            PreTokenizerFamily(
                words { ($0.shape, $0.digits, $0.punctuationTail) = (.phrase, 1, .oneNewlineOrSlash) })
        ),
        (
            "gpt-4o llama4 kanana2 talkie minimax-m2",
            PreTokenizerFamily(gpt4o(letters: .letter, .capitalized, digits: 3))
        ),
        (
            "granite-embed-multi-97m",
            PreTokenizerFamily(gpt4o(letters: [.letter, .mark], .capitalized, digits: 3)).with {
                $0.ignoresMerges = true
            }
        ),
        (
            "tekken",
            PreTokenizerFamily(
                words {
                    ($0.shape, $0.contraction, $0.digits) = (.capitalized, .never, 1)
                    $0.punctuationTail = .newlinesAndSlashes
                }
            ).with {
                $0.ignoresMerges = true
                $0.addsBeginningOfSequence = true
            }
        ),
        (
            "tiny_aya cohere2moe",
            PreTokenizerFamily(rightAligned, gpt4o(letters: [.letter, .mark], .run, digits: 3))
        ),
        (
            "youtu",
            PreTokenizerFamily(
                isolated(hangul), isolated(fullWidthPunctuation), isolated(bopomofo), isolated(hanAndKana),
                gpt4o(letters: [.letter, .mark], .run, digits: 1)
            ).with { $0.ignoresMerges = true }
        ),
        (
            "kimi-k2",
            PreTokenizerFamily(words { ($0.contraction, $0.isolatesHan) = (.ofWord, true) })
        ),
        ("superbpe", PreTokenizerFamily(numbers(), .digitGroups(.init(digits: .digit, cutsBefore: true)))),
        (
            "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
            PreTokenizerFamily(numbers(upTo: 3), isolated(hanAndKana), deepSeek3())
        ),
        (
            "spark2_5",
            PreTokenizerFamily(
                numbers(upTo: 3), isolated(hanAndKana),
                deepSeek3 { ($0.punctuationTail, $0.lineEnd) = (.none, .single) },
                numbers(upTo: 1))
        ),
        ("afmoe", PreTokenizerFamily(rightAligned, isolated(asianScripts), deepSeek3())),
        (
            "deepseek-llm",
            PreTokenizerFamily(
                lineEnds, .runs(.init(set: .init(ranges: casedLetters), lead: .whitespace)),
                .runs(.init(set: .init(ranges: deepSeekPunctuation), lead: .whitespace)), .trailingWhitespace,
                isolated(deepSeekHan), numbers())
        ),
        (
            "deepseek-coder",
            PreTokenizerFamily(
                lineEnds, .runs(.init(set: .init(classes: .letter), lead: .whitespace)),
                .runs(.init(set: .init(classes: .punctuation), lead: .whitespace)), isolated(deepSeekHan),
                numbers(upTo: 1))
        ),
        ("poro-chat bloom gpt3-finnish", PreTokenizerFamily(sentenceParts)),
        ("viking", PreTokenizerFamily(sentenceParts, numbers(upTo: 1))),
        (
            "chameleon",
            PreTokenizerFamily(
                .framed(.init(prefix: Array("<sentinel:".utf8), body: 0x30...0x39, maxCount: .max, suffix: 0x3E)),
                .framed(.init(prefix: Array("IMGIMG".utf8), body: 0x41...0x49, maxCount: 4, suffix: 0x5A)), .indents,
                numbers(upTo: 1), .runs(.init(set: .init(classes: .punctuation, ranges: asciiSymbols), count: 1...1)),
                gpt2
            ).with { $0.addsBeginningOfSequence = true }
        ),
        (
            "gemma4 granite-embed-multi-311m",
            PreTokenizerFamily(lines).with {
                ($0.isCharacterLevel, $0.takesLineEndsWhole) = (true, true)
                $0.addsBeginningOfSequence = true
            }
        ),
        ("sarvam-moe", PreTokenizerFamily(lines).with { $0.isCharacterLevel = true }),
    ]
}
