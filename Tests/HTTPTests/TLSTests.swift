import Foundation
import HTTP
import TestSupport
import Testing

private let openssl = ["/usr/bin/openssl", "/usr/local/bin/openssl"].first {
    FileManager.default.isExecutableFile(atPath: $0)
}

@Suite(.enabled(if: openssl != nil, "the openssl command is not installed"), .timeLimit(.minutes(2)))
struct TLSTests {
    private static func run(_ arguments: [String], input: String = "") async throws -> String {
        let path = try #require(openssl)
        return try await onThread {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: path)
            process.arguments = arguments
            let (stdin, stdout) = (Pipe(), Pipe())
            (process.standardInput, process.standardOutput, process.standardError) = (
                stdin, stdout, FileHandle.nullDevice
            )
            try process.run()
            try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            // s_client reads standard input to its end; -ign_eof keeps it waiting for the server all the same.
            try stdin.fileHandleForWriting.close()
            let output = try stdout.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            return String(decoding: output, as: UTF8.self)
        }
    }

    /// Calls `body` with the paths of a new certificate for localhost and its key.
    private func withCertificate<T>(_ body: (_ certificate: String, _ key: String) async throws -> T) async throws -> T
    {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (certificate, key) = (folder.path + "/cert.pem", folder.path + "/key.pem")
        _ = try await Self.run([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-keyout", key, "-out", certificate,
        ])
        return try await body(certificate, key)
    }

    private func client(_ server: Server, _ certificate: String, _ extra: [String], _ input: String) async throws
        -> String
    {
        try await Self.run(
            [
                "s_client", "-quiet", "-ign_eof", "-connect", "127.0.0.1:\(server.port)", "-CAfile", certificate,
                "-verify_return_error",
            ] + extra, input: input)
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"]) func `requests and streams over TLS`(_ version: String) async throws {
        try await withCertificate { certificate, key in
            let identity = try TLSIdentity(certificateFile: certificate, privateKeyFile: key)
            let handler: Server.Handler = { request in
                guard request.path == "/stream" else {
                    return .text("len \(try await request.body.collect(upTo: .max).count)")
                }
                return Response(
                    status: 200,
                    body: .stream { writer in
                        for _ in 0..<40 { try await writer.write([UInt8](repeating: 0x61, count: 100_000)) }
                    })
            }
            try await withServer(tls: identity, handler) { server async throws in
                let post =
                    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n"
                    + String(repeating: "b", count: 300_000)
                let stream = "GET /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
                let text = try await client(server, certificate, [version], post + stream)
                #expect(statuses(text) == [200, 200])
                #expect(text.contains("\r\n\r\nlen 300000HTTP/1.1 200 OK\r\n"))
                #expect(text.hasSuffix("\r\n0\r\n\r\n"))
                #expect(text.utf8.count > 4_000_000)
            }
        }
    }

    @Test func `TLS 1_1 is refused, plain HTTP is not taken for TLS, and http 1_1 is chosen by ALPN`() async throws {
        try await withCertificate { certificate, key in
            let identity = try TLSIdentity(certificateFile: certificate, privateKeyFile: key)
            try await withServer(tls: identity, echo) { server async throws in
                let old = try await client(server, certificate, ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], getAndClose)
                #expect(!old.contains("200 OK"))
                #expect((try? await exchange(server, get))?.contains("200 OK") != true)
                let report = try await Self.run(
                    ["s_client", "-connect", "127.0.0.1:\(server.port)", "-alpn", "h2,http/1.1"], input: "")
                #expect(report.contains("ALPN protocol: http/1.1"))
            }
        }
    }

    @Test func `a client that connects and says nothing is let go`() async throws {
        try await withCertificate { certificate, key in
            let identity = try TLSIdentity(certificateFile: certificate, privateKeyFile: key)
            try await withServer(limits: Limits { $0.handshake = .milliseconds(200) }, tls: identity, echo) {
                server async throws in
                let begin = ContinuousClock.now
                #expect(try await exchange(server, "").isEmpty)
                #expect(.now - begin < .seconds(20))
            }
        }
    }

    @Test func `errors name the file`() async throws {
        try await withCertificate { certificate, key in
            #expect {
                try TLSIdentity(certificateFile: "/nowhere.pem", privateKeyFile: key)
            } throws: { ($0 as? NetworkError)?.message.contains("/nowhere.pem") == true }
            #expect {
                try TLSIdentity(certificateFile: certificate, privateKeyFile: certificate)
            } throws: { ($0 as? NetworkError)?.message.contains("private key \(certificate)") == true }
        }
    }

    @Test func `a client knows whom it trusts`() async throws {
        try await withCertificate { certificate, key in
            let identity = try TLSIdentity(certificateFile: certificate, privateKeyFile: key)
            try await withServer(tls: identity, echo) { server in
                let trust = try TLSTrust(certificateFile: certificate)
                let client = HTTPClient(host: "localhost", port: server.port, trust: trust)
                let response = try await client.send("POST", "/x", headers: [:], body: Array("body".utf8))
                #expect(String(decoding: try await response.next() ?? [], as: UTF8.self) == "POST /x body")
                #expect(try await response.next() == nil)
                for (host, trust) in [("localhost", try TLSTrust()), ("127.0.0.1", trust)] {
                    let client = HTTPClient(host: host, port: server.port, trust: trust)
                    await #expect { try await client.send("GET", "/", headers: [:]) } throws: {
                        if case ClientError.untrusted = $0 { true } else { false }
                    }
                }
            }
            try await withServer(echo) { plain in
                let client = HTTPClient(host: "localhost", port: plain.port, trust: try TLSTrust())
                await #expect { try await client.send("GET", "/", headers: [:]) } throws: {
                    if case ClientError.notConnected = $0 { true } else { false }
                }
            }
        }
    }
}
