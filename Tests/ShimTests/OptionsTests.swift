import CommandLineParsing
import Foundation
import LocalLLM
import TestSupport
import Testing

@testable import Shim

@Suite struct OptionsTests {
    /// - Parameter line: Models are files of the current folder; without a slash they would be names to look for.
    private func options(_ line: String) throws(UsageError) -> Options {
        let line = line.replacing("--model ", with: "--model ./").replacing(".//", with: "/")
        return try Options(
            Arguments(line.split(separator: " ").map(String.init), options: Options.all(.none)),
            environment: ["XDG_DATA_HOME": "/nowhere"])
    }

    @Test func `defaults`() throws {
        let options = try options("--model m.gguf")
        #expect(options.models.files.map(\.lastPathComponent) == ["m.gguf"])
        #expect(options.models.directory == nil && options.models.aliases.isEmpty && options.idleUnload == nil)
        #expect(options.host == "127.0.0.1")
        #expect(options.port == 8080)
        #expect(
            options.models.defaults.configuration.contextSize == nil
                && options.models.defaults.configuration.threads == nil)
        #expect(options.models.defaults.configuration.tier == nil)
        #expect(options.requestTimeout == .seconds(3600))
        #expect(options.models.defaults.configuration.cacheFormat == .f16)
    }

    @Test func `everything given`() throws {
        let options = try options(
            "--model m --host ::1 --port=0 --context 512 --threads 3 --alias a --tier portable --cache-type q8_0 --request-timeout 60"
        )
        #expect(options.host == "::1")
        #expect(options.port == 0)
        #expect(options.models.defaults.configuration.contextSize == 512)
        #expect(options.models.defaults.configuration.threads == 3)
        #expect(options.models.defaults.configuration.tier == .portable)
        #expect(options.requestTimeout == .seconds(60))
        #expect(options.models.defaults.configuration.cacheFormat == .q8_0)
        #expect(options.models.aliases == [.init(name: "a", model: "m")])
    }

    @Test func `one model may have several aliases, and the help says so`() throws {
        #expect(
            try options("--model m --alias a --alias *").models.aliases
                == [.init(name: "a", model: "m"), .init(name: "*", model: "m")])
        // However the lines are broken.
        let help = Options.usage(.none).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(help.contains("'*' takes any name"))
    }

    @Test func `hosted tools are left out unless they are to be refused`() throws {
        #expect(try !options("--model m").refusesHostedTools)
        #expect(try options("--model m --refuse-hosted-tools").refusesHostedTools)
    }

    @Test func `a server starts with an alias for any name, and not with one of an unknown model`() throws {
        let directory = try TemporaryDirectory()
        let path = try TinyModel().write(in: directory, as: "a.gguf").path
        let store = try ModelStore(options("--model \(path) --alias *"))
        #expect(try store.model(named: "gpt-4o-mini").file.id == "a")
        #expect(throws: UsageError.self) { try ModelStore(options("--model \(path) --alias *=b")) }
    }

    @Test func `several models, their aliases and their folder`() throws {
        let options = try options(
            "--model a.gguf --model b.gguf --models-dir d --alias x=a --alias y=z=1 --idle-unload 9")
        #expect(options.models.files.map(\.lastPathComponent) == ["a.gguf", "b.gguf"])
        #expect(options.models.directory?.lastPathComponent == "d")
        #expect(options.models.aliases == [.init(name: "x", model: "a"), .init(name: "y", model: "z=1")])
        #expect(options.idleUnload == 9)
    }

    @Test func `without a model it serves those that were pulled, if there are any`() throws {
        let data = try TemporaryDirectory()
        let models = data.url.appendingPathComponent("localllm/models")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        let environment = ["XDG_DATA_HOME": data.url.path]
        let none = #expect(throws: UsageError.self) {
            try Options(Arguments([], options: Options.all(.none)), environment: environment)
        }
        #expect(none?.description.contains("shim pull") == true)
        try Data().write(to: models.appendingPathComponent("m.gguf"))
        let options = try Options(Arguments([], options: Options.all(.none)), environment: environment)
        #expect(options.models.directory?.path == models.path)
        let home = ModelFolder.standard(["HOME": "/home/someone", "XDG_DATA_HOME": "not/absolute"])
        #expect(home.path == "/home/someone/.local/share/localllm/models")
    }

    @Test(arguments: [
        ("", "--model"), ("--model", "--model"), ("--model m --prot 1", "--prot"), ("--model m --port 65536", "--port"),
        ("--model m --port x", "--port"), ("--model m --threads 0", "--threads"),
        ("--model m --context -5", "--context"), ("--model m --tier sse", "--tier: expected portable"),
        ("--model m --cache-type q4_0", "--cache-type: expected f16, q8_0 or q4"),
        ("--model m --alias=", "--alias"), ("--model m --alias =m", "--alias"),
        ("--model m --model n --alias a", "--alias a: expected NAME=MODEL"), ("--models-dir d --alias a", "--alias a"),
        ("--model m --idle-unload 0", "--idle-unload"), ("--model m extra", "extra"),
        ("--model m --request-timeout 0", "--request-timeout"), ("--model m --allow-remote=x", "--allow-remote"),
        ("--model m --host 0.0.0.0", "--allow-remote"),
    ])
    func `mistakes are named`(_ line: String, _ name: String) {
        let error = #expect(throws: UsageError.self) { try options(line) }
        #expect(error?.description.contains(name) == true)
    }
}
