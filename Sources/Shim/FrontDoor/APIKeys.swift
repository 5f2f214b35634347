package import CommandLineParsing
import Cryptography
import Foundation
import HTTP
import Wire

/// API keys that clients must send, kept as SHA-256 digests: all of one length, and no key stays in memory.
package struct APIKeys: Sendable {
    private var digests: [[UInt8]] = []

    var isEmpty: Bool { digests.isEmpty }

    /// - Parameters:
    ///   - file: One key per line; empty lines and lines that begin with `#` are skipped.
    ///   - variable: The value of `LOCALLLM_API_KEY`, an additional key.
    init(file: String?, variable: String?) throws(UsageError) {
        if let file { digests = try Self.keys(in: file, for: "--api-key-file").map(Self.digest) }
        guard let variable else { return }
        guard Self.canBeSent(variable) else {
            throw UsageError("LOCALLLM_API_KEY: expected a key of visible ASCII characters; unset it to have none")
        }
        digests.append(Self.digest(variable))
    }

    /// Reads the keys of a file, at least one. `option` names the file's option in errors.
    package static func keys(in file: String, for option: String) throws(UsageError) -> [String] {
        let text: String
        do { text = try String(contentsOfFile: file, encoding: .utf8) } catch {
            throw UsageError("\(option) \(file): \(error.localizedDescription)")
        }
        var keys: [String] = []
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let key = line.trimmingCharacters(in: .whitespaces)
            if key.isEmpty || key.utf8.first == UInt8(ascii: "#") { continue }
            guard Self.canBeSent(key) else {
                throw UsageError(
                    "\(option) \(file): line \(number + 1) is not a valid key: expected visible ASCII without spaces")
            }
            keys.append(key)
        }
        guard !keys.isEmpty else { throw UsageError("\(option) \(file): the file contains no key") }
        return keys
    }

    /// Whether every user of the machine may read a file. Containers mount secrets with such modes, so this gives a
    /// warning, not an error.
    package static func isReadableByAll(_ file: String) -> Bool {
        var status = stat()
        return stat(file, &status) == 0 && status.st_mode & S_IROTH != 0
    }

    /// The warning about such a file.
    package static func readableByAll(_ file: String) -> String {
        "\(file) is readable by every user of this machine; run chmod o-r"
    }

    /// Checks the key in `Authorization: Bearer` or `x-api-key`. Without configured keys every request passes.
    ///
    /// - Parameter required: Whether to require a key even if none is configured, because other credentials are.
    /// - Returns: The owner of the key; `nil` if no keys are configured.
    func check(_ request: Request, required: Bool = false) throws(APIError) -> Principal? {
        guard !isEmpty || required else { return nil }
        let bearers = request.headers.all("Authorization").compactMap(Self.bearer)
        guard let key = bearers.first ?? request.headers["x-api-key"] else {
            throw .keyRefused("This server requires an API key. Send it as `Authorization: Bearer KEY`.")
        }
        guard let number = number(of: key) else { throw .keyRefused("Incorrect API key provided.") }
        return Principal(kind: .apiKey, id: "\(number)")
    }

    /// Number of a key, from 1. The time depends on the key's length only, not on whether and where it matches.
    private func number(of key: String) -> Int? {
        let digest = Self.digest(key)
        return digests.indices.reduce(nil) { found, index in
            isEqualInConstantTime(digests[index], digest) ? index + 1 : found
        }
    }

    private static func digest(_ key: String) -> [UInt8] { SHA256.digest(of: key.utf8) }

    /// The scheme's name is compared without regard to case (RFC 9110, section 11.1).
    private static func bearer(_ value: String) -> String? {
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return parts[1].trimmingCharacters(in: .whitespaces)
    }

    package static func canBeSent(_ key: String) -> Bool {
        !key.isEmpty && key.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }
}

extension APIError {
    fileprivate static func keyRefused(_ message: String) -> Self {
        .init(status: 401, kind: .invalidRequest, message: message, code: "invalid_api_key")
    }
}
