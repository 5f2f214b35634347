import Foundation
import TestSupport
import Testing
import Tokenizer

@testable import LocalLLM

/// What a folder's `generation_config.json` says about sampling and the end of answers.
@Suite struct GenerationConfigTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// `TinyModel`'s vocabulary as the `tokenizers` package saves it.
    private static let tokenizer: String = {
        let bytes = (0..<256).map { String(format: #""<0x%02X>": %d"#, $0, $0 + 3) }
        let special = ["<unk>", "<s>", "</s>"].enumerated()
            .map { #"{"id": \#($0), "content": "\#($1)", "special": true}"# }
        return """
            {"model": {"type": "BPE", "byte_fallback": true, "unk_token": "<unk>", "merges": [],
              "vocab": {"<unk>": 0, "<s>": 1, "</s>": 2, \(bytes.joined(separator: ", "))}},
             "added_tokens": [\(special.joined(separator: ", "))],
             "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
             "decoder": {"type": "Sequence", "decoders": [
               {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
               {"type": "Fuse"}]}}
            """
    }()

    private func folder(config: String = "", generation: String?) throws -> URL {
        var others = ["tokenizer.json": Self.tokenizer, "tokenizer_config.json": #"{"eos_token": "</s>"}"#]
        others["generation_config.json"] = generation
        return try TinyModel().writeFolder(
            in: directory, architecture: "LlamaForCausalLM", config: config, others: others)
    }

    private func load(_ url: URL) async throws -> LocalModel {
        try await LocalModel.load(from: url, configuration: .init(threads: 1))
    }

    @Test func `the end tokens of generation_config, config and tokenizer all end an answer`() async throws {
        let folder = try folder(
            config: #", "eos_token_id": [2, 50]"#, generation: #"{"eos_token_id": [60, 50, 9999, -1]}"#)
        let converted = directory.url.appending(path: "converted.gguf")
        _ = try Quantizer.copy(modelAt: folder.path, to: converted.path)
        for url in [folder, converted] {
            let model = try await load(url)
            #expect(try model.tokenizer.endOfSequence == 2)
            #expect(try model.tokenizer.endOfGeneration == [2, 50, 60])
            for end in [2, 50, 60] as [Int32] {
                let options = SamplingOptions(temperature: 0, logitBias: [end: 1000], maximumTokens: 5)
                var finish: GenerationPiece.Finish?
                for try await piece in model.generate(tokens: [70, 71], options: options) {
                    finish = piece.finish ?? finish
                }
                #expect(finish?.reason == .stop)
                #expect(finish?.usage.completionTokens == 1)
            }
        }
    }

    @Test func `a single end token of generation_config counts beside the tokenizer's`() throws {
        let url = try folder(generation: #"{"eos_token_id": 60}"#)
        let description = try GGUFFile(path: url.path).metadata.tokenizerDescription()
        #expect(description?.endOfSequence == 2)
        #expect(description?.endsOfSequence == [2, 60])
    }

    @Test func `sampling options of generation_config are the model's defaults`() async throws {
        let folder = try folder(
            generation: """
                {"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.01, "typical_p": 0.9,
                 "repetition_penalty": 1.05, "suppress_tokens": [70], "max_length": 4096, "num_beams": 1,
                 "transformers_version": "5.0.0", "bad_words_ids": null, "begin_suppress_tokens": []}
                """)
        let converted = directory.url.appending(path: "converted.gguf")
        _ = try Quantizer.copy(modelAt: folder.path, to: converted.path)
        for url in [folder, converted] {
            let model = try await load(url)
            let settled = model.settled(.init())
            #expect(settled.topK == 20)
            for (value, expected) in [
                (settled.temperature, 0.6), (settled.topP, 0.95), (settled.minP, 0.01), (settled.typicalP, 0.9),
                (settled.repetitionPenalty, 1.05),
            ] { #expect(abs((value ?? 0) - expected) < 1e-6) }
            #expect(model.settled(.init(temperature: 1, topK: 0)).topK == 0)
            let options = SamplingOptions(temperature: 0, logitBias: [70: 1000, 71: 999], maximumTokens: 1)
            for try await piece in model.generate(tokens: [5], options: options) {
                #expect(piece.tokens.allSatisfy { $0 == 71 })
            }
        }
    }

    @Test func `a model that is not to be sampled from is greedy, and a top_k of -1 keeps all tokens`() async throws {
        let model = try await load(
            folder(generation: #"{"do_sample": false, "temperature": 0.6, "top_k": -1, "top_p": 1}"#))
        let settled = model.settled(.init())
        #expect(settled.temperature == 0 && settled.topK == 0 && settled.topP == 1)
        #expect(model.settled(.init(temperature: 0.5)).temperature == 0.5)
    }

    @Test(arguments: [
        (#""num_beams": 4"#, "num_beams"), (#""no_repeat_ngram_size": 3"#, "no_repeat_ngram_size"),
        (#""bad_words_ids": [[5]]"#, "bad_words_ids"), (#""begin_suppress_tokens": [5]"#, "begin_suppress_tokens"),
        (#""stop_strings": "x""#, "stop_strings"), (#""guidance_scale": 1.5"#, "guidance_scale"),
        (#""temperature": "hot""#, "temperature"), (#""temperature": -1"#, "temperature"), (#""top_p": 1.5"#, "top_p"),
        (#""eos_token_id": "</s>""#, "eos_token_id"), (#""eos_token_id": [1.5]"#, "eos_token_id"),
        (#""do_sample": 1"#, "do_sample"), (#""top_k": 1e300"#, "top_k"), (#""suppress_tokens": 5"#, "suppress_tokens"),
    ])
    func `an option of generation that cannot be served is refused by name`(option: String, name: String) throws {
        let url = try folder(generation: "{\(option)}")
        let error = #expect(throws: ModelFileError.self) { try GGUFFile(path: url.path) }
        #expect(error?.message.contains("'\(name)'") == true)
        #expect(error?.path.hasSuffix("generation_config.json") == true)
    }

    @Test func `a GGUF file may have several end tokens and an integer top_k`() async throws {
        var tiny = TinyModel()
        tiny.extra = [
            ("tokenizer.ggml.eos_token_ids", .int32s([50, 60])), ("general.sampling.top_k", .int32(20)),
            ("general.sampling.temp", .uint32(1)),
        ]
        let model = try await load(tiny.write(in: directory))
        #expect(try model.tokenizer.endOfGeneration == [2, 50, 60])
        #expect(model.settled(.init()).topK == 20)
        tiny.extra = [("tokenizer.ggml.eos_token_ids", .int32s([50, 6000]))]
        let url = try tiny.write(in: directory)
        let error = await #expect(throws: ModelFileError.self) { try await LocalModel.load(from: url) }
        #expect(error?.message.contains("eos_token_ids") == true)
    }
}
