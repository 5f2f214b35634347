import CommandLineParsing
import Foundation
import HTTP
import TestSupport
import Testing

@testable import Shim

@Suite struct AccessOptionsTests {
    @Test func `defaults`() throws {
        let options = try accessOptions()
        #expect(options.keys.isEmpty)
        #expect(options.origins.corsOrigins.isEmpty && options.origins.hosts == ["127.0.0.1"])
        #expect(options.origins.hostCheck == .loopback)
        #expect(options.certificate == nil)
        #expect(try options.tlsIdentity() == nil)
        #expect(options.drain == .seconds(25))
        #expect(!options.logsPrompts)
    }

    @Test func `everything given`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(Array("sk-one".utf8), as: "keys")
        let options = try accessOptions(
            "--api-key-file", file, "--cors-origin", "https://a.example", "--cors-origin=http://localhost:3000",
            "--cors-origin", "null", "--allowed-host", "b.example", "--tls-cert", "c", "--tls-key", "k", "--drain", "0",
            "--log-prompts", environment: ["LOCALLLM_API_KEY": "sk-two"])
        #expect(!options.keys.isEmpty)
        #expect(options.keyFile == file)
        #expect(options.origins.corsOrigins == ["https://a.example", "http://localhost:3000", "null"])
        #expect(options.origins.hosts == ["b.example", "127.0.0.1"])
        #expect(options.certificate?.chain == "c" && options.certificate?.key == "k")
        #expect(options.drain == .zero)
        #expect(options.logsPrompts)
        withExtendedLifetime(directory) {}
    }

    @Test func `off loopback there must be keys, or the word that none are wanted`() throws {
        for host in ["0.0.0.0", "::", "192.168.0.1", "example.org"] {
            let error = #expect(throws: UsageError.self) { try accessOptions(host: host) }
            #expect(error?.description.contains("--api-key-file") == true)
            #expect(error?.description.contains("--allow-remote") == true)
            #expect(try accessOptions("--allow-remote", host: host).origins.hostCheck == .addresses)
            let keyed = try accessOptions(host: host, environment: ["LOCALLLM_API_KEY": "sk-one"])
            #expect(keyed.origins.hostCheck == .none)
        }
    }

    @Test(arguments: [
        (["--tls-cert", "c"], "--tls-key"), (["--tls-key", "k"], "--tls-cert"), (["--drain", "-1"], "--drain"),
        (["--cors-origin", "*"], "--cors-origin"), (["--cors-origin", "example.org"], "--cors-origin"),
        (["--cors-origin", "https://example.org/"], "--cors-origin"),
        (["--cors-origin", "https://Example.org"], "--cors-origin"),
        (["--cors-origin", "https://*.example.org"], "--cors-origin"),
        (["--allowed-host", "https://example.org"], "--allowed-host"), (["--allowed-host", ""], "--allowed-host"),
    ])
    func `mistakes are named`(_ arguments: [String], _ name: String) {
        let error = #expect(throws: UsageError.self) {
            try AccessOptions(
                Arguments(arguments, options: AccessOptions.all), host: "127.0.0.1", hasAuthenticator: false,
                environment: [:])
        }
        #expect(error?.description.contains(name) == true)
    }

    @Test func `a certificate that cannot be read is named`() throws {
        let options = try accessOptions("--tls-cert", "/nowhere.pem", "--tls-key", "k")
        let error = #expect(throws: NetworkError.self) { try options.tlsIdentity() }
        #expect(error?.message.contains("/nowhere.pem") == true)
    }
}
