import Foundation
import TestSupport
import Testing

@testable import LocalLLM

/// Folders of models that score a query and a document.
@Suite struct RerankerFolderTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    // MARK: BERT

    private var cross: TinyEncoder {
        var tiny = TinyEncoder()
        tiny.labels = 1
        return tiny
    }

    /// A cross-encoder as `sentence-transformers` saves it.
    ///
    /// - Parameter processor: What `tokenizer.json` says about special tokens; `nil`: nothing.
    private func bertFolder(_ tiny: TinyEncoder, processor: String?) throws -> URL {
        let names = [
            "token_embd": "bert.embeddings.word_embeddings", "token_types": "bert.embeddings.token_type_embeddings",
            "position_embd": "bert.embeddings.position_embeddings", "token_embd_norm": "bert.embeddings.LayerNorm",
            "cls": "bert.pooler.dense", "cls.output": "classifier", "attn_q": "attention.self.query",
            "attn_k": "attention.self.key", "attn_v": "attention.self.value", "attn_output": "attention.output.dense",
            "attn_output_norm": "attention.output.LayerNorm", "ffn_up": "intermediate.dense",
            "ffn_down": "output.dense", "layer_output_norm": "output.LayerNorm",
        ]
        let tensors = try tiny.tensors().map { tensor in
            var parts = tensor.name.split(separator: ".").map(String.init)
            let suffix = parts.removeLast()
            let layer = parts[0] == "blk" ? "bert.encoder.layer.\(parts[1])." : ""
            let name = try #require(names[parts.dropFirst(layer.isEmpty ? 0 : 2).joined(separator: ".")])
            return SafetensorsBuilder.Tensor(
                "\(layer)\(name).\(suffix)", type: "F32", shape: tensor.shape.reversed().map { Int($0) },
                data: tensor.data)
        }
        let vocabulary = TinyEncoder.vocabulary.map { $0.hasPrefix("▁") ? String($0.dropFirst()) : $0 }
        let entries = vocabulary.enumerated().map { index, text in
            // The letters come twice: at the start of a word, then inside.
            let prefix = index < 30 ? "" : "##"
            return #""\#(prefix)\#(text)": \#(index)"#
        }
        let special = (0..<4).map { #"{"id": \#($0), "content": "\#(vocabulary[$0])", "special": true}"# }
        let tokenizer = """
            {"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "vocab": {\(entries.joined(separator: ", "))}},
             "added_tokens": [\(special.joined(separator: ", "))],
             "normalizer": {"type": "BertNormalizer", "lowercase": true}, "pre_tokenizer": {"type": "BertPreTokenizer"},
             "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
             "post_processor": \(processor ?? "null")}
            """
        let settings = #"{"cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]", "pad_token": "[PAD]"}"#
        let config = """
            {"architectures": ["BertForSequenceClassification"], "hidden_size": \(tiny.width),
             "intermediate_size": \(tiny.feedForward), "num_hidden_layers": \(tiny.layers),
             "num_attention_heads": \(tiny.heads), "max_position_embeddings": \(tiny.context),
             "layer_norm_eps": 1e-06, "type_vocab_size": 2, "vocab_size": \(vocabulary.count),
             "id2label": {"0": "LABEL_0"}, "hidden_act": "gelu"}
            """
        return try SafetensorsBuilder(tensors).write(
            config: config, in: directory, as: "cross",
            others: ["tokenizer.json": tokenizer, "tokenizer_config.json": settings])
    }

    /// `[CLS] A [SEP]` and `[CLS] A [SEP] B [SEP]`, as published files have it.
    private static let template = """
        {"type": "TemplateProcessing",
         "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                    {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
         "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                  {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
                  {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]}
        """

    @Test(arguments: [nil, template])
    func `a classifier of BERT scores pairs, whose second text has the second type`(processor: String?) async throws {
        let model = try await LocalModel.load(
            from: bertFolder(cross, processor: processor), configuration: .init(threads: 2))
        #expect(model.info.isReranker)
        let pairs = try [("ab c", "abc"), ("ab c", "z"), ("", "q"), ("hello", "world of words")].map {
            try model.rerankTokens(query: $0, document: $1)
        }
        // [CLS] a ##b c [SEP] a ##b ##c [SEP]
        #expect(pairs[0] == [2, 4, 31, 6, 3, 4, 31, 32, 3])
        let scores = try await model.relevance(of: pairs)
        let naive = NaiveEncoder(cross)
        #expect(normalizedMeanSquaredError(scores, pairs.flatMap { naive.scores($0, separator: 3) }) < 1e-10)
        #expect(normalizedMeanSquaredError(scores, pairs.flatMap { naive.scores($0) }) > 1e-4)
        for (pair, score) in zip(pairs, scores) {
            #expect(try await abs(model.relevance(of: [pair])[0] - score) < 1e-5)
        }
    }

    // MARK: Qwen 3

    private var qwen: TinyModel {
        var tiny = TinyModel()
        tiny.architecture = "qwen3"
        tiny.hasHeadNorm = true
        return tiny
    }

    private let inputs: [[Int32]] = [[1, 30, 75, 200], [9, 114], [3, 77, 20, 21, 22]]

    /// The scores of a file with this classifier.
    private func scores(_ rows: [[Float]]) async throws -> [Float] {
        var tiny = qwen
        tiny.extra = [("qwen3.pooling_type", .uint32(4))]
        var builder = tiny.builder()
        builder.tensors.append(.init("cls.output.weight", shape: [tiny.width, rows.count], rows.flatMap { $0 }))
        let file = URL(filePath: try directory.write(builder.bytes(), as: "reranker.gguf"))
        return try await LocalModel.load(from: file, configuration: .init(threads: 1)).relevance(of: inputs)
    }

    @Test func `a classifier of Qwen 3 scores the last token`() async throws {
        let score = (0..<qwen.width).map { Float($0 % 7) / 10 - 0.3 }
        let url = try qwen.writeFolder(
            in: directory, architecture: "Qwen3ForSequenceClassification", config: #", "id2label": {"0": "LABEL_0"}"#
        ) { tensors in
            tensors.removeAll { $0.name == "lm_head.weight" }
            tensors.append(.init("score.weight", shape: [1, score.count], score))
        }
        let model = try await LocalModel.load(from: url, configuration: .init(threads: 1))
        #expect(model.info.isReranker)
        #expect(try await model.relevance(of: inputs) == (try await scores([score])))
    }

    @Test func `a classifier of Qwen 3 with more outputs is refused`() throws {
        let url = try qwen.writeFolder(in: directory, architecture: "Qwen3ForSequenceClassification") { tensors in
            tensors.append(.init("score.weight", shape: [2, qwen.width], Array(repeating: 0, count: 2 * qwen.width)))
        }
        let error = #expect(throws: ModelFileError.self) { try GGUFFile(path: url.path) }
        #expect(error?.message.contains("one output") == true)
    }

    @Test(arguments: [false, true])
    func `Qwen3-Reranker is known by its name and weighs yes against no`(isTied: Bool) async throws {
        var tiny = qwen
        tiny.isTied = isTied
        // Byte tokens; "yes" and "no" are 5 and 7.
        let vocabulary = (0..<TinyModel.vocabularySize).map { index in
            let text = index == 5 ? "yes" : index == 7 ? "no" : "t\(index)"
            return #""\#(text)": \#(index)"#
        }
        let tokenizer = """
            {"model": {"type": "BPE", "vocab": {\(vocabulary.joined(separator: ", "))}, "merges": []},
             "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
             "decoder": {"type": "ByteLevel"}}
            """
        let url = try tiny.writeFolder(
            in: directory, as: "Qwen3-Reranker-Tiny", architecture: "Qwen3ForCausalLM",
            config: isTied ? #", "tie_word_embeddings": true"# : "", others: ["tokenizer.json": tokenizer])
        let file = try GGUFFile(path: url.path)
        #expect(try file.metadata.chatTemplates()["rerank"]?.hasSuffix("<think>\n\n</think>\n\n") == true)
        let weights = tiny.weights()
        let head = try #require(weights[isTied ? "token_embd.weight" : "output.weight"])
        let rows = [5, 7].map { Array(head[$0 * tiny.width..<($0 + 1) * tiny.width]) }
        #expect(file.tensorIfPresent("cls.output.weight")?.floats() == rows.flatMap { $0 })
        if !isTied {
            let model = try await LocalModel.load(from: url, configuration: .init(threads: 1))
            #expect(try await model.relevance(of: inputs) == (try await scores(rows)))
        }

        try FileManager.default.removeItem(at: url.appending(path: "tokenizer.json"))
        let error = #expect(throws: ModelFileError.self) { try GGUFFile(path: url.path) }
        #expect(error?.message.contains("tokenizer.json") == true)
    }
}
