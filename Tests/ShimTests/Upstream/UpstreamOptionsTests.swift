import CommandLineParsing
import Foundation
import TestSupport
import Testing

@testable import Shim

@Suite struct UpstreamOptionsTests {
    private func options(_ line: String, key: String? = nil) throws(UsageError) -> UpstreamOptions? {
        let arguments = try Arguments(line.split(separator: " ").map(String.init), options: UpstreamOptions.all)
        return try UpstreamOptions(arguments, environment: key.map { ["LOCALLLM_UPSTREAM_KEY": $0] } ?? [:])
    }

    @Test func `none, defaults, everything`() throws {
        #expect(try options("") == nil)
        #expect(try options("", key: "k") == nil)
        let plain = try #require(try options("--upstream https://api.example.org/v1/"))
        #expect(plain.host == "api.example.org" && plain.port == 443 && plain.usesTLS && plain.basePath == "/v1")
        #expect(plain.key == nil && plain.model == nil && plain.occasions.isEmpty && plain.silence == .seconds(120))
        #expect(plain.warnings.isEmpty)
        let full = try #require(
            try options(
                "--upstream http://[::1]:8081 --upstream-model m --upstream-when busy,too-long --upstream-timeout 9",
                key: "k"))
        #expect(full.host == "::1" && full.port == 8081 && !full.usesTLS && full.basePath.isEmpty)
        #expect(full.key == "k" && full.model == "m" && full.occasions == [.busy, .tooLong])
        #expect(full.silence == .seconds(9) && full.warnings.isEmpty)
        #expect(try options("--upstream http://gpu.example/v1", key: "k")?.warnings.count == 1)
    }

    @Test func `the key comes from a file`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(Array("# cloud\n\n sk-file \n".utf8), as: "key")
        #expect(
            try options("--upstream https://a/v1 --upstream-key-file \(file)", key: "sk-variable")?.key == "sk-file")
        for content in ["", "# none\n", "a b\n", "sk-one\nsk-two\n"] {
            let bad = try directory.write(Array(content.utf8), as: "bad")
            let error = #expect(throws: UsageError.self) {
                try options("--upstream https://a/v1 --upstream-key-file \(bad)")
            }
            #expect(error?.description.contains("--upstream-key-file") == true)
            #expect(error?.description.contains("sk-one") == false)
        }
        withExtendedLifetime(directory) {}
    }

    @Test(arguments: [
        ("--upstream api.example.org", "--upstream: expected"), ("--upstream ftp://a/v1", "--upstream: expected"),
        ("--upstream https:///v1", "--upstream: expected"), ("--upstream https://a/v1?key=1", "--upstream: expected"),
        ("--upstream https://a:0/v1", "--upstream: expected"),
        ("--upstream https://a:70000/v1", "--upstream: expected"),
        ("--upstream https://u:secret@a/v1", "--upstream-key-file"), ("--upstream-model m", "--upstream-model needs"),
        ("--upstream https://a --upstream-when busy", "--upstream-model"),
        ("--upstream https://a --upstream-model m --upstream-when sometimes", "sometimes"),
        ("--upstream https://a --upstream-timeout 0", "--upstream-timeout"),
        ("--upstream https://a --upstream-key-file /nowhere/key", "/nowhere/key"),
    ])
    func `mistakes are named`(_ line: String, _ name: String) {
        let error = #expect(throws: UsageError.self) { try options(line) }
        #expect(error?.description.contains(name) == true)
        #expect(error?.description.contains("secret") == false)
    }

    @Test func `a key that cannot be sent is refused without being shown`() {
        let error = #expect(throws: UsageError.self) { try options("--upstream https://a", key: "two words") }
        #expect(error?.description.contains("LOCALLLM_UPSTREAM_KEY") == true)
        #expect(error?.description.contains("two words") == false)
    }
}
