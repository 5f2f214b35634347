public import Foundation
import Synchronization

/// Stores small secrets, such as a session token, across runs of an app.
public protocol SecretStore: Sendable {
    /// - Returns: `nil` if nothing is stored under the name, or it has expired.
    func secret(named name: String) throws(SecretStoreError) -> [UInt8]?
    /// Stores a secret, replacing an earlier one with the name.
    ///
    /// - Parameter expiry: Time after which the store may drop the secret.
    func keep(_ secret: [UInt8], named name: String, until expiry: Date) throws(SecretStoreError)
    /// Removes a secret, if stored.
    func remove(named name: String) throws(SecretStoreError)
}

/// Why a secret could not be stored or read, with advice for the user.
public struct SecretStoreError: Error, Equatable, Sendable, CustomStringConvertible, LocalizedError {
    public let description: String
    public var errorDescription: String? { description }

    init(_ description: String) { self.description = description }

    /// The error of a system call that just failed.
    static func system(_ what: String, _ code: Int32 = errno) -> Self {
        .init("\(what): \(String(cString: strerror(code)))")
    }
}

/// The kernel's keyring if available, which it is not in most containers; else files.
///
/// - Parameter directory: Directory of the files, created on demand.
public func systemSecretStore(directory: URL) -> any SecretStore {
    KeyringStore.isAvailable ? KeyringStore() : FileSecretStore(directory: directory)
}

/// Stores secrets in memory only.
public final class MemorySecretStore: SecretStore {
    private let secrets = Mutex<[String: [UInt8]]>([:])

    public init() {}

    public func secret(named name: String) -> [UInt8]? { secrets.withLock { $0[name] } }
    public func keep(_ secret: [UInt8], named name: String, until _: Date) { secrets.withLock { $0[name] = secret } }
    public func remove(named name: String) { secrets.withLock { $0[name] = nil } }
}
