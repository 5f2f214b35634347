import Foundation
import TestSupport
import Testing

@testable import Client

@Suite("Secrets")
struct SecretStoreTests {
    private static let soon = Date().addingTimeInterval(3600)
    /// Names are whatever an app likes.
    private static let names = ["token", "../token", "a/b c.d", "é", ""]

    private func roundTrip(_ store: any SecretStore, _ name: String) throws {
        defer { try? store.remove(named: name) }
        #expect(try store.secret(named: name) == nil)
        try store.remove(named: name)
        for secret in [[1, 0, 255], Array("later".utf8)] as [[UInt8]] {
            try store.keep(secret, named: name, until: Self.soon)
            #expect(try store.secret(named: name) == secret)
        }
        try store.remove(named: name)
        #expect(try store.secret(named: name) == nil)
    }

    @Test(arguments: names)
    func `in memory`(name: String) throws { try roundTrip(MemorySecretStore(), name) }

    @Test(arguments: names)
    func `in files`(name: String) throws {
        let directory = try TemporaryDirectory()
        try roundTrip(FileSecretStore(directory: directory.url.appending(path: "a/b")), name)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == ["a"])
    }

    @Test(
        .enabled(if: KeyringStore.isAvailable, "the kernel has no keyring for this process"),
        arguments: names)
    func `in the kernel's keyring`(name: String) throws { try roundTrip(KeyringStore(), "test-\(UUID())-\(name)") }

    @Test(.enabled(if: KeyringStore.isAvailable, "the kernel has no keyring"))
    func `the kernel forgets a key when it expires`() async throws {
        let (store, name) = (KeyringStore(), "test-\(UUID())")
        try store.keep([1], named: name, until: Self.soon)
        #expect(try store.secret(named: name) == [1])
        try store.keep([1], named: name, until: Date().addingTimeInterval(1))
        #expect(await eventually { (try? store.secret(named: name)) == .some(nil) })
        try store.keep([2], named: name, until: Self.soon)
        try store.keep([3], named: name, until: Date().addingTimeInterval(-1))
        #expect(try store.secret(named: name) == nil)
    }

    @Test(.enabled(if: KeyringStore.isAvailable, "the kernel has no keyring"))
    func `what the keyring cannot hold is refused`() {
        #expect(throws: SecretStoreError.self) {
            try KeyringStore().keep([UInt8](repeating: 0, count: 40_000), named: "test-\(UUID())", until: Self.soon)
        }
    }

    @Test
    func `files and their directory are their owner's alone`() throws {
        let directory = try TemporaryDirectory().url.appending(path: "secrets")
        let store = FileSecretStore(directory: directory)
        try store.keep([1], named: "token", until: Self.soon)
        func mode(_ url: URL) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
        }
        #expect(try mode(directory) == 0o700)
        #expect(try mode(directory.appending(path: "token.secret")) == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["token.secret"])
    }

    @Test(arguments: [0o640, 0o604, 0o620])
    func `a file that others may use is refused, until it is replaced`(mode: Int) throws {
        let directory = try TemporaryDirectory()
        let store = FileSecretStore(directory: directory.url)
        let path = try directory.write([1], as: "token.secret")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        let error = #expect(throws: SecretStoreError.self) { try store.secret(named: "token") }
        #expect(error?.description.contains("mode \(String(mode, radix: 8))") == true)
        try store.keep([2], named: "token", until: Self.soon)
        #expect(try store.secret(named: "token") == [2])
    }

    @Test
    func `a link is not followed, and replaced rather than written through`() throws {
        let directory = try TemporaryDirectory()
        let store = FileSecretStore(directory: directory.url)
        let target = try directory.write([1], as: "target")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: target)
        let link = directory.url.appending(path: "token.secret").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        #expect(throws: SecretStoreError.self) { try store.secret(named: "token") }
        try store.keep([2], named: "token", until: Self.soon)
        #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data([1]))
        #expect(try store.secret(named: "token") == [2])
    }

    @Test
    func `a pipe is not waited for`() throws {
        let directory = try TemporaryDirectory()
        #expect(mkfifo(directory.url.appending(path: "token.secret").path, 0o600) == 0)
        #expect(throws: SecretStoreError.self) { try FileSecretStore(directory: directory.url).secret(named: "token") }
    }

    @Test
    func `a directory that cannot be made is said`() throws {
        let directory = try TemporaryDirectory()
        let file = URL(fileURLWithPath: try directory.write([1], as: "file"))
        #expect(throws: SecretStoreError.self) {
            try FileSecretStore(directory: file.appending(path: "inside")).keep([1], named: "a", until: Self.soon)
        }
    }

    @Test
    func `the system's store is one of the two`() throws {
        let store = systemSecretStore(directory: try TemporaryDirectory().url)
        #expect(KeyringStore.isAvailable ? store is KeyringStore : store is FileSecretStore)
    }
}
