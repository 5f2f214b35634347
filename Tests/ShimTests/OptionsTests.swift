import CommandLineParsing
import Foundation
import LocalLLM
import Testing

@testable import Shim

@Suite struct OptionsTests {
    private func options(_ line: String) throws(UsageError) -> Options {
        try Options(Arguments(line.split(separator: " ").map(String.init), options: Options.all))
    }

    @Test func `defaults`() throws {
        let options = try options("--model m.gguf")
        #expect(options.model.lastPathComponent == "m.gguf")
        #expect(options.host == "127.0.0.1")
        #expect(options.port == 8080)
        #expect(options.context == nil && options.threads == nil && options.alias == nil)
        #expect(options.tier == nil)
        #expect(options.requestTimeout == .seconds(3600))
        #expect(options.cacheFormat == .f16)
    }

    @Test func `everything given`() throws {
        let options = try options(
            "--model m --host ::1 --port=0 --context 512 --threads 3 --alias a --tier portable --cache-type q8_0 --request-timeout 60"
        )
        #expect(options.host == "::1")
        #expect(options.port == 0)
        #expect(options.context == 512)
        #expect(options.threads == 3)
        #expect(options.tier == .portable)
        #expect(options.requestTimeout == .seconds(60))
        #expect(options.cacheFormat == .q8_0)
        #expect(options.alias == "a")
    }

    @Test(arguments: [
        ("", "--model"), ("--model", "--model"), ("--model m --prot 1", "--prot"), ("--model m --port 65536", "--port"),
        ("--model m --port x", "--port"), ("--model m --threads 0", "--threads"),
        ("--model m --context -5", "--context"), ("--model m --tier sse", "--tier: expected portable"),
        ("--model m --cache-type q4_0", "--cache-type: expected f16 or q8_0"),
        ("--model m --alias=", "--alias"), ("--model m --request-timeout 0", "--request-timeout"),
        ("--model m extra", "extra"), ("--model m --allow-remote=x", "--allow-remote"),
        ("--model m --host 0.0.0.0", "--allow-remote"),
    ])
    func `mistakes are named`(_ line: String, _ name: String) {
        let error = #expect(throws: UsageError.self) { try options(line) }
        #expect(error?.description.contains(name) == true)
    }
}
