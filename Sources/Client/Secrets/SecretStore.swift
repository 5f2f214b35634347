public import Foundation
import Synchronization

/// Keeps small secrets, such as a session's token, from one run of an app to the next.
public protocol SecretStore: Sendable {
    /// - Returns: `nil` if nothing is kept under the name, or not any more.
    func secret(named name: String) throws(SecretStoreError) -> [UInt8]?
    /// Replaces what was kept under the name.
    ///
    /// - Parameter expiry: From when on the store may forget the secret.
    func keep(_ secret: [UInt8], named name: String, until expiry: Date) throws(SecretStoreError)
    func remove(named name: String) throws(SecretStoreError)
}

/// Why a secret could not be kept or read, and what to do about it.
public struct SecretStoreError: Error, Equatable, Sendable, CustomStringConvertible, LocalizedError {
    public let description: String
    public var errorDescription: String? { description }

    init(_ description: String) { self.description = description }

    /// What the system says of a call that just failed.
    static func system(_ what: String, _ code: Int32 = errno) -> Self {
        .init("\(what): \(String(cString: strerror(code)))")
    }
}

/// The kernel's keyring where it can be used, which it cannot in most containers; else files.
///
/// - Parameter directory: Of the files; made if need be.
public func systemSecretStore(directory: URL) -> any SecretStore {
    KeyringStore.isAvailable ? KeyringStore() : FileSecretStore(directory: directory)
}

/// Keeps secrets as long as the process runs.
public final class MemorySecretStore: SecretStore {
    private let secrets = Mutex<[String: [UInt8]]>([:])

    public init() {}

    public func secret(named name: String) -> [UInt8]? { secrets.withLock { $0[name] } }
    public func keep(_ secret: [UInt8], named name: String, until _: Date) { secrets.withLock { $0[name] = secret } }
    public func remove(named name: String) { secrets.withLock { $0[name] = nil } }
}
