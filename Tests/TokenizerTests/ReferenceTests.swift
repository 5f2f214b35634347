import Foundation
import TestSupport
import Testing
import Tokenizer

extension TokenizerDescription {
    init(_ metadata: GGUFMetadata) {
        func key(_ name: String) -> String { "tokenizer.ggml." + name }
        func string(_ name: String) -> String? { metadata.strings[name].map { String(decoding: $0, as: UTF8.self) } }
        func id(_ name: String) -> Int32? { metadata.numbers[key(name)].map { Int32($0) } }
        func flag(_ name: String) -> Bool? { metadata.numbers[key(name)].map { $0 != 0 } }

        self.init(model: string(key("model")) ?? "", tokens: metadata.stringArrays[key("tokens")] ?? [])
        pre = string(key("pre"))
        scores = metadata.numberArrays[key("scores")]?.map { Float($0) }
        types = metadata.numberArrays[key("token_type")]?.map { Int32($0) }
        merges = metadata.stringArrays[key("merges")]
        beginningOfSequence = id("bos_token_id")
        endOfSequence = id("eos_token_id")
        unknown = id("unknown_token_id")
        separator = id("seperator_token_id")
        addBeginningOfSequence = flag("add_bos_token")
        addEndOfSequence = flag("add_eos_token")
        addSpacePrefix = flag("add_space_prefix")
        removeExtraWhitespaces = flag("remove_extra_whitespaces")
        precompiledCharsmap = metadata.numberArrays[key("precompiled_charsmap")]?.map {
            UInt8(truncatingIfNeeded: Int($0))
        }
        normalizerLowercase = flag("normalizer.lowercase")
        normalizerStripAccents = flag("normalizer.strip_accents")
        modelName = string("general.name")
        architecture = string("general.architecture")
    }
}

/// Texts and the ids that llama.cpp gives for them, with the vocabularies of real models.
struct ReferenceCases: Decodable {
    struct Case: Decodable {
        var text: String
        var ids: [Int32]
        var add_special: Bool?
        var parse_special: Bool?
    }
    var cases: [Case]
}

@Suite(.enabled(if: Fixtures.exist("vocabs"), "needs ../shared/fixtures"))
struct ReferenceTests {
    @Test(arguments: ["gpt-2", "llama-bpe", "qwen2", "llama-spm", "phi-3"])
    func `gives llama.cpp's ids for real vocabularies`(name: String) throws {
        let tokenizer = try TextTokenizer(TokenizerDescription(GGUFMetadata(Fixtures.url("vocabs/\(name).gguf"))))
        let file = try Data(contentsOf: Fixtures.url("vocabs/\(name).cases.json"))
        let cases = try JSONDecoder().decode(ReferenceCases.self, from: file).cases
        #expect(!cases.isEmpty)
        for reference in cases {
            let ids = tokenizer.encode(
                reference.text, addSpecial: reference.add_special ?? false,
                parseSpecial: reference.parse_special ?? false)
            #expect(ids == reference.ids, "\(reference.text.debugDescription)")
        }
    }
}
