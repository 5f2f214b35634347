import CLinux
public import Foundation

/// Stores secrets in the kernel's user keyring (keyrings(7)). Only the user's processes can read them; they are lost
/// when the user's last process ends or the machine restarts.
public struct KeyringStore: SecretStore {
    private static let keyring = KEY_SPEC_USER_KEYRING
    private static let type = "user"
    /// Maximum bytes of a key of this type.
    private static let mostBytes = 32767
    /// All permissions for the user and for possessors of the keyring. Without the former, a process whose session has
    /// no link to the user keyring, such as a service's, could not read the key.
    private static let permissions = 0x3f3f_0000

    public init() {}

    /// Whether the kernel supports keyrings and this process may use them.
    public static var isAvailable: Bool { key_control(KEYCTL_GET_KEYRING_ID, keyring, 1) != -1 }

    public func secret(named name: String) throws(SecretStoreError) -> [UInt8]? {
        guard let key = try find(name) else { return nil }
        var secret = [UInt8](repeating: 0, count: Self.mostBytes)
        let count = key_read(key, &secret, secret.count)
        guard count >= 0 else {
            if Self.meansAbsent(errno) { return nil }
            throw .system("reading a key of the kernel's keyring")
        }
        return Array(secret.prefix(count))
    }

    public func keep(_ secret: [UInt8], named name: String, until expiry: Date) throws(SecretStoreError) {
        let seconds = expiry.timeIntervalSinceNow.rounded(.up)
        guard seconds > 0 else { return try remove(named: name) }
        let key = key_add(Self.type, Self.description(name), secret, secret.count, Self.keyring)
        guard key != -1 else { throw .system("adding a key to the kernel's keyring") }
        let serial = Int32(truncatingIfNeeded: key)
        guard key_control(KEYCTL_SETPERM, serial, Self.permissions) != -1,
            key_control(KEYCTL_SET_TIMEOUT, serial, Int(min(seconds, 1e9))) != -1
        else { throw .system("setting up a key of the kernel's keyring") }
    }

    public func remove(named name: String) throws(SecretStoreError) {
        guard let key = try find(name) else { return }
        guard key_control(KEYCTL_UNLINK, key, Int(Self.keyring)) != -1 || Self.meansAbsent(errno) else {
            throw .system("removing a key from the kernel's keyring")
        }
    }

    private func find(_ name: String) throws(SecretStoreError) -> Int32? {
        let key = key_search(Self.keyring, Self.type, Self.description(name))
        if key != -1 { return Int32(truncatingIfNeeded: key) }
        if Self.meansAbsent(errno) { return nil }
        throw .system("searching the kernel's keyring")
    }

    private static func description(_ name: String) -> String { "localllm:\(name)" }

    private static func meansAbsent(_ code: Int32) -> Bool { [ENOKEY, EKEYEXPIRED, EKEYREVOKED].contains(code) }
}
