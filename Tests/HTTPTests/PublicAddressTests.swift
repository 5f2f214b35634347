import Foundation
import Synchronization
import Testing

@testable import HTTP

@Suite struct PublicAddressTests {
    @Test(arguments: [
        "8.8.8.8", "1.1.1.1", "100.63.255.255", "172.32.0.1", "192.167.1.1", "223.255.255.255", "2606:4700::1111",
        "2a00:1450:4001::200e",
    ])
    func `addresses of the internet are public`(_ text: String) throws {
        #expect(try #require(NetworkAddress(text)).isPublic)
    }

    @Test(arguments: [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.0.1", "169.254.169.254", "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8", "192.168.1.1", "198.19.0.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::7f00:1", "64:ff9b::a00:1", "fc00::1", "fd12::1",
        "fe80::1",
        "fec0::1", "ff02::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "100::1",
    ])
    func `internal and special addresses are not`(_ text: String) throws {
        #expect(!(try #require(NetworkAddress(text)).isPublic))
    }

    @Test func `a client for public addresses connects to no other, nor takes a connection that another kept`()
        async throws
    {
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0)) { _ in Response(status: 200) }
        var client = HTTPClient(host: "127.0.0.1", port: UInt16(server.port))
        // Leaves a connection that is kept.
        let answer = try await client.send("GET", "/", headers: [:])
        while try await answer.next() != nil {}
        client.reach = .publicAddresses
        let error = await #expect(throws: ClientError.self) { try await client.send("GET", "/", headers: [:]) }
        #expect("\(try #require(error))".contains("no address on the public internet"))
        await server.stop(within: .zero)
    }

    /// The server of this test is reached through a connection that is kept as one to the internet, since every address
    /// of a test is internal.
    @Test(arguments: [
        "http://127.0.0.1:PORT/", "http://localhost:PORT/", "http://[::1]:PORT/", "http://[::ffff:127.0.0.1]:PORT/",
        "http://2130706433:PORT/", "http://0:PORT/", "http://10.0.0.1/", "http://192.168.0.1/",
        "http://169.254.169.254/latest/meta-data/", "http://[fe80::1]/", "http://[fd00::1]/", "//127.0.0.1:PORT/",
        "ftp://example.com/", "file:///etc/passwd",
    ])
    func `redirects to internal addresses are not followed`(target: String) async throws {
        let asked = Mutex<[String]>([])
        let places = Mutex<[String]>([])
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0)) { request in
            asked.withLock { $0.append(request.path) }
            let place = places.withLock { $0.first } ?? ""
            return Response(status: request.path == "/moved" ? 302 : 200, headers: ["Location": place])
        }
        places.withLock { $0 = [target.replacing("PORT", with: "\(server.port)")] }
        let limits = HTTPClient.Limits()
        let found = await HostLookup.addresses(of: "127.0.0.1", port: UInt16(server.port), within: limits.connect)
        let host = "\(UUID().uuidString.lowercased()).invalid"
        let connection = try await ClientConnection.open(
            try #require(found.get().first), host: host, trust: nil, through: nil, limits: limits)
        let request = Array("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8)
        _ = try await connection.ask(request, limits, until: .now + .seconds(20))
        while try await connection.nextBytes() != nil {}
        let origin = KeptConnections.Origin(host: host, port: 80, trust: nil, proxy: nil, reach: .publicAddresses)
        await KeptConnections.shared.keep(connection, origin)
        let url = try #require(URL(string: "http://\(host)/moved"))
        let error = await #expect(throws: ClientError.self) {
            _ = try await HTTPClient.get(
                url, limits: limits, reach: .publicAddresses, headers: { _ in [:] }, redirect: { _, _, _ in })
        }
        let text = "\(try #require(error))"
        let isOther = target.hasPrefix("ftp") || target.hasPrefix("file")
        #expect(text.contains(isOther ? "is not an http or https URL" : "no address on the public internet"), "\(text)")
        #expect(asked.withLock { $0 } == ["/", "/moved"])
        await server.stop(within: .zero)
    }
}
