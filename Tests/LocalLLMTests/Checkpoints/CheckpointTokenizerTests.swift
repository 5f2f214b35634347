@testable import GGUF
import JSON
import Testing

@testable import LocalLLM

@Suite struct CheckpointTokenizerTests {
    private func tokenizer(_ json: String) throws -> CheckpointTokenizer {
        try CheckpointTokenizer(JSON(parsing: Array(json.utf8), .modelFiles), nil, path: "tokenizer.json")
    }

    @Test func `Unigram keeps the scores, the kinds and the table of replacements`() throws {
        let tokenizer = try tokenizer(
            #"""
            {"model": {"type": "Unigram", "unk_id": 1, "vocab": [["<s>", 0], ["<unk>", 0], ["▁a", -1.5], ["b", -2.25]]},
             "added_tokens": [{"id": 0, "content": "<s>", "special": true}, {"id": 4, "content": "<mask>", "special": true}],
             "normalizer": {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": "AQID"}]},
             "pre_tokenizer": {"type": "Sequence", "pretokenizers":
               [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "prepend_scheme": "always"}]},
             "decoder": {"type": "Metaspace", "prepend_scheme": "always"}}
            """#)
        guard case .unigram(let unigram) = tokenizer.kind else { Issue.record("\(tokenizer.kind)"); return }
        #expect(unigram.scores == [0, 0, -1.5, -2.25, 0])
        #expect(tokenizer.characterMap == [1, 2, 3] && unigram.removesExtraSpaces)
        #expect(tokenizer.kinds == [3, 2, 1, 1, 3] && tokenizer.addsSpacePrefix == true)
        #expect(tokenizer.tokens.map { String(decoding: $0, as: UTF8.self) } == ["<s>", "<unk>", "▁a", "b", "<mask>"])
    }

    @Test(arguments: [
        #"{"model": {"type": "Unigram", "vocab": [["a"]]}}"#, #"{"model": {"type": "Unigram", "vocab": [["a", "b"]]}}"#,
        #"{"model": {"type": "WordLevel", "vocab": {"a": 0}}}"#, #"{"model": {}}"#,
        #"{"model": {"type": "BPE", "vocab": {"a": 1000000000}}}"#,
    ])
    func `a vocabulary that cannot be read is refused`(json: String) {
        #expect(throws: ModelFileError.self) { try tokenizer(json) }
    }
}
