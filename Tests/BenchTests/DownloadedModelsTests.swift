import CommandLineParsing
import Foundation
import TestSupport
import Testing

@Suite struct DownloadedModelsTests {
    private let directory: TemporaryDirectory
    private let models: DownloadedModels

    init() throws {
        directory = try TemporaryDirectory()
        for name in [
            "SmolLM2-135M-Instruct.Q4_1.gguf", "Qwen3-4B-Q4_K_M.gguf", "Qwen3-4B-Q8_0.gguf", "Qwen3-14B-Q4_K_M.gguf",
            "Llama-3.2-3B-Instruct-Q4_K_M-00001-of-00002.gguf", "Llama-3.2-3B-Instruct-Q4_K_M-00002-of-00002.gguf",
        ] {
            _ = try directory.write([], as: name)
        }
        // Its title is "tiny".
        _ = try TinyModel().write(in: directory, as: "x1.gguf")
        models = DownloadedModels(in: directory.url)
    }

    private func name(_ text: String) throws -> String { DownloadedModels.name(of: try models.find(text)) }

    @Test(
        arguments: [
            ("smollm2", "SmolLM2-135M-Instruct.Q4_1"), ("SMOL", "SmolLM2-135M-Instruct.Q4_1"),
            ("SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct.Q4_1"), ("qwen3:14b", "Qwen3-14B-Q4_K_M"),
            ("qwen3-4b-q8", "Qwen3-4B-Q8_0"), ("hf.co/Qwen/Qwen3-14B-GGUF:Q4_K_M", "Qwen3-14B-Q4_K_M"),
            ("llama3.2", "Llama-3.2-3B-Instruct-Q4_K_M"), ("llama3.2:latest", "Llama-3.2-3B-Instruct-Q4_K_M"),
            ("Llama-3.2-3B-Instruct-Q4_K_M-00001-of-00002.gguf", "Llama-3.2-3B-Instruct-Q4_K_M"),
            ("Tiny", "x1"),
        ])
    func `any part of a name that leaves no choice finds the model`(_ text: String, _ expected: String) throws {
        #expect(try name(text) == expected)
    }

    @Test func `a part of several names lists them`() {
        let error = #expect(throws: UnknownModel.self) { try models.find("qwen3:4b") }
        #expect(error?.description == "'qwen3:4b' is in the names of several models: Qwen3-4B-Q4_K_M, Qwen3-4B-Q8_0.")
    }

    @Test func `a miss lists what is near, or the command that downloads it`() {
        let error = #expect(throws: UnknownModel.self) { try models.find("smolm2") }
        #expect(error?.description.contains("Similar: SmolLM2-135M-Instruct.Q4_1.") == true)
        let known = #expect(throws: UnknownModel.self) { try models.find("gemma3:4b") }
        #expect(known?.description.contains("`shim pull gemma3:4b` downloads it (2.49 GB, Gemma).") == true)
        for text in ["", "-", "nothing-like-it"] { #expect(throws: UnknownModel.self) { try models.find(text) } }
    }

    @Test func `a path is a path, whether the file is there or not`() throws {
        let file = directory.url.appendingPathComponent("x1.gguf").path
        #expect(try models.find(file).path == file)
        #expect(try models.find("/nowhere/x.gguf").path == "/nowhere/x.gguf")
        #expect(try models.find("./smollm2").lastPathComponent == "smollm2")
    }

    @Test func `where none is named, the only one is taken, or they are listed`() throws {
        #expect(throws: UsageError.self) { try models.only() }
        let empty = try TemporaryDirectory()
        let none = #expect(throws: UsageError.self) { try DownloadedModels(in: empty.url).only() }
        #expect(none?.description.contains("shim pull smollm2:135m") == true)
        _ = try empty.write([], as: "a.gguf")
        #expect(try DownloadedModels(in: empty.url).only().lastPathComponent == "a.gguf")
    }
}

@Suite struct NearestWordTests {
    @Test(
        arguments: [
            ("spede", "speed"), ("perp", "perplexity"), ("logit", "logits"), ("SPEED", "speed"), ("sped", "speed"),
        ])
    func `the nearest word is found`(_ word: String, _ expected: String) {
        #expect(nearestWord(to: word, in: ["serve", "speed", "perplexity", "logits"]) == expected)
    }

    @Test func `nothing is near what is another word`() {
        #expect(nearestWord(to: "elephant", in: ["serve", "speed"]) == nil)
        #expect(nearestWord(to: "", in: [String]()) == nil)
    }
}

@Suite struct KnownModelTests {
    @Test func `a family is its largest model that fits, and a name is that model`() {
        #expect(KnownModel.named("llama3.2", memory: 100_000_000_000)?.name == "llama3.2:3b")
        #expect(KnownModel.named("Llama3.2:latest", memory: 1_500_000_000)?.name == "llama3.2:1b")
        #expect(KnownModel.named("llama3.2", memory: 0)?.name == "llama3.2:1b")
        #expect(KnownModel.named("qwen3:4b", memory: 0)?.name == "qwen3:4b")
        #expect(KnownModel.named("qwen", memory: 100_000_000_000) == nil)
    }

    @Test(arguments: [0, 1_000_000_000, 4_000_000_000, 16_000_000_000, 64_000_000_000])
    func `what is suggested fits, and is not more than three`(memory: Int) {
        let models = KnownModel.suggestions(memory: memory)
        #expect((1...3).contains(models.count) && Set(models.map(\.name)).count == models.count)
        #expect(memory == 0 || models.allSatisfy { $0.bytes < memory })
        #expect(memory < 2_000_000_000 || models.count == 3)
    }

    @Test func `names and repositories differ`() {
        #expect(Set(KnownModel.all.map(\.name)).count == KnownModel.all.count)
        #expect(KnownModel.all.map(\.bytes) == KnownModel.all.map(\.bytes).sorted())
    }
}
