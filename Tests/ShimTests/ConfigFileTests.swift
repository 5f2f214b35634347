import CommandLineParsing
import Foundation
import HTTP
import TestSupport
import Testing

@testable import LocalLLM
@testable import Shim

/// `--config FILE`.
@Suite(.timeLimit(.minutes(2))) struct ConfigFileTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.url.appendingPathComponent("shim.json").path }

    init() throws {
        directory = try TemporaryDirectory()
        for name in ["a.gguf", "b.gguf"] { _ = try TinyModel().write(in: directory, as: name) }
    }

    private func options(_ json: String, _ line: String = "") throws -> Options {
        try Data(json.utf8).write(to: URL(fileURLWithPath: path))
        let words = ["--config", path] + line.split(separator: " ").map(String.init)
        return try Options(
            Arguments(words, options: Options.all(.none)), environment: ["XDG_DATA_HOME": "/nowhere"])
    }

    private func error(_ json: String) -> String? {
        #expect(throws: UsageError.self, "\(json)") { try options(json) }?.description
    }

    private func settings(_ options: Options, _ name: String) -> ModelSettings {
        options.models.settings(of: directory.url.appendingPathComponent(name))
    }

    @Test func `each model has its own settings, and paths are relative to the file`() throws {
        let options = try options(
            """
            {"port": 9000, "log_prompts": true, "allow_remote": false, "cors_origin": ["null", "http://localhost:3"],
             "threads": 2, "cache_type": "q8_0", "models": [
              {"file": "a.gguf", "aliases": ["gpt", "*"], "mmproj": "b.gguf", "draft": "./b.gguf", "context": 512,
               "cache_type": "q4", "adapters": [{"file": "b.gguf", "scale": 0.5}, {"file": "a.gguf"}], "pinned": true,
               "sampling": {"temperature": 0, "top_k": 7}, "experts_on_disk": true},
              {"file": "\(directory.url.path)/../\(directory.url.lastPathComponent)/b.gguf"}]}
            """)
        #expect(options.port == 9000 && options.access.logsPrompts)
        #expect(options.access.origins.corsOrigins == ["null", "http://localhost:3"])
        #expect(options.models.files.map(\.lastPathComponent) == ["a.gguf", "b.gguf"])
        let b = directory.url.appendingPathComponent("b.gguf").path
        let first = settings(options, "a.gguf")
        #expect(first.isPinned && first.configuration.contextSize == 512 && first.configuration.threads == 2)
        #expect(first.configuration.imageEncoder?.path == b && first.configuration.draftModel?.path == b)
        #expect(first.configuration.adapters.map(\.scale) == [0.5, 1])
        #expect(first.configuration.cacheFormat == .q4 && first.configuration.expertsOnDisk)
        #expect(first.configuration.sampling == SamplingOptions(temperature: 0, topK: 7))
        let second = settings(options, "b.gguf")
        #expect(!second.isPinned && second.configuration.contextSize == nil && second.configuration.threads == 2)
        #expect(second.configuration.cacheFormat == .q8_0 && second.configuration.imageEncoder == nil)
        let store = try ModelStore(options)
        #expect(try store.model(named: "gpt").file.id == "gpt" && store.model(named: "anything").file.id == "gpt")
        #expect(store.seesImages("gpt") && !store.seesImages("b") && store.seesImages)
    }

    @Test func `the command line goes before the file's options`() throws {
        let json = #"{"port": 9000, "host": "::1", "context": 64, "models": [{"file": "a.gguf", "context": 32}]}"#
        let options = try options(json, "--port 9001 --context 128 --model \(directory.url.path)/b.gguf --alias x=b")
        #expect(options.port == 9001 && options.host == "::1")
        #expect(settings(options, "a.gguf").configuration.contextSize == 32)
        #expect(settings(options, "b.gguf").configuration.contextSize == 128)
        #expect(try ModelStore(options).model(named: "x").file.url.lastPathComponent == "b.gguf")
    }

    @Test func `a model of the file that is in the folder too is listed once, with its settings`() throws {
        let options = try options(#"{"models_dir": ".", "models": [{"file": "a.gguf", "aliases": ["x"]}]}"#)
        #expect(try ModelStore(options).models.map(\.file.id).sorted() == ["b", "x"])
    }

    @Test func `mistakes are refused by path, with what is expected`() {
        let cases = [
            ("[]", "expected an object, found an array"), ("{", "not JSON"), ("", "not JSON"), ("nul", "not JSON"),
            (#"{"prot": 1}"#, "unknown key 'prot'; did you mean 'port'?"),
            (#"{"model": "a.gguf"}"#, "unknown key 'model'; did you mean 'models'?"),
            (#"{"port": 65536, "models_dir": "."}"#, "port: expected a whole number in 0...65535, found '65536'"),
            (#"{"port": null}"#, "port: expected text that is not empty, found null"),
            (#"{"log_prompts": 1}"#, "log_prompts: expected true or false, found 1"),
            (#"{"cache_type": "q5"}"#, "cache_type: expected f16, q8_0 or q4, found 'q5'"),
            (#"{"models": {}}"#, "models: expected an array, found an object"),
            (#"{"models": [{}]}"#, "models[0]: 'file' is missing"),
            (#"{"models": [{"file": "c.gguf"}]}"#, "models[0].file: no such file, or not readable: "),
            (#"{"models": [{"file": "a.gguf"}, {"file": "./a.gguf"}]}"#, "models[1]: the same file as models[0]"),
            (
                #"{"models": [{"file": "a.gguf", "contxt": 1}]}"#,
                "models[0]: unknown key 'contxt'; did you mean 'context'?"
            ),
            (
                #"{"models": [{"file": "a.gguf", "context": 1.5}]}"#,
                "models[0].context: expected a whole number in 1...2147483647, found 1.5"
            ),
            (#"{"models": [{"file": "a.gguf", "context": 1e300}]}"#, "models[0].context: expected a whole number"),
            (#"{"models": [{"file": "a.gguf", "threads": "2"}]}"#, "models[0].threads: expected a whole number"),
            (#"{"models": [{"file": "a.gguf", "tier": "sse"}]}"#, "models[0].tier: expected portable, "),
            (#"{"models": [{"file": "a.gguf", "mmproj": ""}]}"#, "models[0].mmproj: expected text that is not empty"),
            (#"{"models": [{"file": "a.gguf", "mmproj": "a\u0000b"}]}"#, "models[0].mmproj: expected text"),
            (
                #"{"models": [{"file": "a.gguf", "sampling": {"top_p": 2}}]}"#,
                "models[0].sampling.top_p: expected a number from 0 to 1, found 2"
            ),
            (#"{"models": [{"file": "a.gguf", "sampling": {"seed": 2}}]}"#, "models[0].sampling: unknown key 'seed'"),
            (
                #"{"models": [{"file": "a.gguf", "adapters": [{"scale": 1}]}]}"#,
                "models[0].adapters[0]: 'file' is missing"
            ),
            (
                #"{"models": [{"file": "a.gguf", "aliases": ["x"]}, {"file": "b.gguf", "aliases": ["x"]}]}"#,
                "models[1]: alias 'x' is already an alias of models[0]"
            ),
        ]
        for (json, expected) in cases {
            let found = error(json) ?? ""
            #expect(found.contains("shim.json: \(expected)"), "\(json): \(found)")
        }
        let missing = #expect(throws: UsageError.self) { try ConfigFile(path: "/nowhere/shim.json") }
        #expect(missing?.description.contains("/nowhere/shim.json") == true)
        let endless = #expect(throws: UsageError.self) { try ConfigFile(path: "/dev/zero") }
        #expect(endless?.description.contains("1048576 bytes") == true)
    }

    @Test func `a damaged file is an error and never a crash`() throws {
        let whole = Array(
            """
            {"port": 0, "models": [{"file": "a.gguf", "aliases": ["x"], "context": 64, "sampling": {"min_p": 0.1},
             "adapters": [{"file": "b.gguf", "scale": -1}], "pinned": false}]}
            """.utf8)
        var random = SplitMix64(seed: 6)
        for round in 0..<600 {
            var bytes = whole
            for _ in 0...Int.random(in: 0..<4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch round % 4 {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: place)
                default: bytes.removeLast(min(bytes.count - 1, place))
                }
            }
            _ = try? options(String(decoding: bytes, as: UTF8.self))
        }
        for deep in ["[", #"{"models":"#, #"{"models":[{"adapters":["#] {
            _ = try? options(String(repeating: deep, count: 20_000))
        }
    }

    @Test func `a check shows each value and where it comes from, and fails where a server would`() throws {
        let json =
            #"{"port": 9000, "cache_type": "q8_0", "models": [{"file": "a.gguf", "context": 48, "pinned": true}]}"#
        _ = try options(json)
        let text = try checkConfiguration(path, .none, environment: [:])
        let lines = text.split(separator: "\n").map { $0.split(separator: #/ {2,}/#).map(String.init) }
        for row in [
            ["port", "9000", "port"], ["host", "127.0.0.1", "default"], ["context", "48", "models[0].context"],
            ["cache_type", "q8_0", "cache_type"], ["pinned", "true", "models[0].pinned"],
            ["threads", "one per physical core", "default"],
        ] { #expect(lines.contains { $0.filter { !$0.isEmpty } == row }, "\(row)\n\(text)") }
        #expect(lines.contains { $0.first?.trimmingCharacters(in: .whitespaces) == "model a" }, "\(text)")
        try Data("no model".utf8).write(to: directory.url.appendingPathComponent("a.gguf"))
        #expect(throws: InvalidConfiguration.self) { try checkConfiguration(path, .none, environment: [:]) }
    }

    @Test func `two models are served with their own settings`() async throws {
        let options = try options(
            """
            {"threads": 1, "models": [
              {"file": "a.gguf", "context": 48, "sampling": {"temperature": 0.25}},
              {"file": "b.gguf", "context": 64, "cache_type": "q8_0", "sampling": {"top_k": 3}}]}
            """)
        let services = Services(models: try ModelStore(options))
        for (name, context) in [("a", 48), ("b", 64)] {
            let answer = await services.answer(
                "POST", "/v1/completions", #"{"model":"\#(name)","prompt":"Hi","max_tokens":2}"#)
            #expect(answer.status == 200, "\(answer.text)")
            let model = try #require(services.models.model(named: name).loaded as? LocalModel)
            #expect(model.contextSize == context)
            let settled = model.settled(SamplingOptions())
            #expect(settled.temperature == (name == "a" ? 0.25 : 0.8) && settled.topK == (name == "a" ? 0 : 3))
            #expect(model.settled(SamplingOptions(temperature: 1, topK: 5)).temperature == 1)
            #expect(model.cacheFormat == (name == "a" ? .f16 : .q8_0))
        }
        let metrics = metricsText(services)
        #expect(metrics.contains(#"shim_generated_tokens_total{model="a"} 2"#))
    }
}
