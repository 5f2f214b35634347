import Foundation
import TestSupport
import Testing
import Tokenizer

@testable import LocalLLM

/// Keys of `config.json` and of the tokenizer's settings, and the files of chat templates.
@Suite struct CheckpointKeyTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func folder(
        config: String = "", others: [String: String] = [:], name: String = "folder"
    ) throws -> URL {
        try TinyModel().writeFolder(
            in: directory, as: name, architecture: "LlamaForCausalLM", config: config, others: others)
    }

    @Test(arguments: [
        (#""hidden_act": "relu""#, "hidden_act"), (#""is_encoder_decoder": true"#, "is_encoder_decoder"),
        (#""mlp_only_layers": [1]"#, "mlp_only_layers"), (#""decoder_sparse_step": 2"#, "decoder_sparse_step"),
        (#""swiglu_limit": 3.0"#, "swiglu_limit"), (#""num_beams": 4"#, "num_beams"),
    ])
    func `a value for which the network is not made is refused by name`(entry: String, key: String) throws {
        let error = #expect(throws: ModelFileError.self) { try GGUFFile(path: folder(config: ", " + entry).path) }
        #expect(error?.message.contains("'\(key)'") == true)
    }

    @Test func `usual values load, and without generation_config sampling options of config are the defaults`() throws {
        let url = try folder(
            config: """
                , "hidden_act": "silu", "is_encoder_decoder": false, "mlp_only_layers": [], "decoder_sparse_step": 1,
                "num_beams": 1, "temperature": 0.25, "attention_dropout": 0.1, "use_cache": true
                """)
        #expect(try GGUFFile(path: url.path).metadata.doubleIfPresent("general.sampling.temp") == 0.25)
        try Data(#"{"top_k": 5}"#.utf8).write(to: url.appending(path: "generation_config.json"))
        let metadata = try GGUFFile(path: url.path).metadata
        #expect(try metadata.doubleIfPresent("general.sampling.temp") == nil)
        #expect(try metadata.intIfPresent("general.sampling.top_k") == 5)
    }

    private static let bert = """
        {"model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3}},
         "added_tokens": [{"id": 0, "content": "[UNK]", "special": true}, {"id": 1, "content": "[CLS]", "special": true},
           {"id": 2, "content": "[SEP]", "special": true}],
         "normalizer": {"type": "BertNormalizer", "lowercase": true}, "pre_tokenizer": {"type": "BertPreTokenizer"},
         "decoder": {"type": "WordPiece"}}
        """

    @Test(arguments: [#""do_lower_case": false"#, #""split_special_tokens": true"#])
    func `settings that contradict tokenizer_json are refused by name`(entry: String) throws {
        let url = try folder(others: ["tokenizer.json": Self.bert, "tokenizer_config.json": "{\(entry)}"])
        let error = #expect(throws: ModelFileError.self) { try GGUFFile(path: url.path) }
        #expect(error?.message.contains(entry.prefix { $0 != ":" }.replacing("\"", with: "'")) == true)
    }

    @Test func `special tokens are found in special_tokens_map as well`() throws {
        let url = try folder(others: [
            "tokenizer.json": Self.bert, "tokenizer_config.json": #"{"do_lower_case": true}"#,
            "special_tokens_map.json": #"{"sep_token": "[SEP]", "cls_token": {"content": "[CLS]"}}"#,
        ])
        let metadata = try GGUFFile(path: url.path).metadata
        #expect(try metadata.intIfPresent("tokenizer.ggml.seperator_token_id") == 2)
        #expect(try metadata.intIfPresent("tokenizer.ggml.bos_token_id") == 1)
        #expect(try metadata.intIfPresent("tokenizer.ggml.unknown_token_id") == 0)
        // Without a post-processor too, BERT separates the texts of a pair.
        let tokenizer = try TextTokenizer(try #require(try metadata.tokenizerDescription()))
        #expect(tokenizer.encodePair("a", "a") == [1, 3, 2, 3, 2])
    }

    @Test func `chat templates come from files, else from the settings, by name`() throws {
        let url = try folder(others: [
            "tokenizer_config.json": """
            {"chat_template": [{"name": "default", "template": "A"}, {"name": "rag", "template": "B"}]}
            """,
            "chat_template.json": #"{"chat_template": "C"}"#,
        ])
        #expect(try GGUFFile(path: url.path).metadata.chatTemplates() == ["default": "A", "rag": "B"])
        let inner = url.appending(path: "additional_chat_templates")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
        try Data("D".utf8).write(to: inner.appending(path: "tool_use.jinja"))
        try Data("E".utf8).write(to: url.appending(path: "chat_template.jinja"))
        #expect(
            try GGUFFile(path: url.path).metadata.chatTemplates() == ["default": "E", "rag": "B", "tool_use": "D"])
    }
}
