import TestSupport
import Testing
import Tokenizer

@testable import LocalLLM

let tinyVocabulary = GGUFBuilder([
    "tokenizer.ggml.model": .string("llama"), "tokenizer.ggml.pre": .string("default"),
    "tokenizer.ggml.tokens": .array([.string("<unk>"), .string("▁a"), .bytes([0xe2, 0x96])]),
    "tokenizer.ggml.scores": .floats([0, -1.5, -2]), "tokenizer.ggml.token_type": .int32s([2, 1, 6]),
    "tokenizer.ggml.merges": .strings(["▁ a"]),
    "tokenizer.ggml.bos_token_id": .uint32(1), "tokenizer.ggml.eos_token_id": .uint64(2),
    "tokenizer.ggml.eot_token_id": .uint32(.max), "tokenizer.ggml.unknown_token_id": .int32(0),
    "tokenizer.ggml.add_bos_token": .bool(true), "tokenizer.ggml.add_eos_token": .bool(false),
    "tokenizer.ggml.add_space_prefix": .bool(false), "tokenizer.ggml.remove_extra_whitespaces": .bool(true),
    "tokenizer.chat_template": .string("{{ messages }}"), "tokenizer.chat_template.tool_use": .string("{{ tools }}"),
])

@Suite struct GGUFTokenizerTests {
    @Test func `every field of the tokenizer is carried over`() throws {
        let description = try #require(try GGUFFile.open(tinyVocabulary).metadata.tokenizerDescription())
        #expect(description.model == "llama")
        #expect(description.pre == "default")
        #expect(description.tokens == [Array("<unk>".utf8), Array("▁a".utf8), [0xe2, 0x96]])
        #expect(description.scores == [0, -1.5, -2])
        #expect(description.types == [2, 1, 6])
        #expect(description.merges == [Array("▁ a".utf8)])
        #expect(description.beginningOfSequence == 1)
        #expect(description.endOfSequence == 2)
        #expect(description.endOfTurn == nil)
        #expect(description.unknown == 0)
        #expect(description.addBeginningOfSequence == true)
        #expect(description.addEndOfSequence == false)
        #expect(description.addSpacePrefix == false)
        #expect(description.removeExtraWhitespaces == true)
    }

    @Test func `chat templates come by name`() throws {
        let templates = try GGUFFile.open(tinyVocabulary).metadata.chatTemplates()
        #expect(templates == ["default": "{{ messages }}", "tool_use": "{{ tools }}"])
    }

    @Test func `a file without a vocabulary has no tokenizer`() throws {
        #expect(try GGUFFile.open(everyKind).metadata.tokenizerDescription() == nil)
        #expect(
            try GGUFFile.open(GGUFBuilder(["tokenizer.ggml.model": .string("none")])).metadata.tokenizerDescription()
                == nil)
    }

    @Test(
        arguments: [
            ("tokenizer.ggml.scores", .floats([1])), ("tokenizer.ggml.token_type", .int32s([1, 1, 1, 1])),
            ("tokenizer.ggml.bos_token_id", .uint32(3)), ("tokenizer.ggml.eos_token_id", .int64(-2)),
            ("tokenizer.ggml.tokens", .string("a")), ("tokenizer.ggml.add_bos_token", .uint8(1)),
            ("tokenizer.ggml.token_type", .array([.int64(1), .int64(1), .int64(1 << 32)])),
        ] as [(String, GGUFBuilder.Value)])
    func `a field that does not fit the vocabulary is an error that names it`(key: String, value: GGUFBuilder.Value)
        throws
    {
        var builder = tinyVocabulary
        builder.metadata.removeAll { $0.key == key }
        builder.metadata.append((key, value))
        let metadata = try GGUFFile.open(builder).metadata
        let error = #expect(throws: ModelFileError.self) { try metadata.tokenizerDescription() }
        #expect(error?.reason == .badMetadata)
        #expect(error?.message.contains(key) == true)
    }
}
