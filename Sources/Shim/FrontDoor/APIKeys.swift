import CommandLineParsing
import Foundation
import HTTP
import Wire

/// The keys that clients must show. Kept as SHA-256 digests: they have one length, and no key lies about in memory.
struct APIKeys: Sendable {
    private var digests: [[UInt8]] = []

    var isEmpty: Bool { digests.isEmpty }

    /// - Parameters:
    ///   - file: One key a line; empty lines and those that begin with `#` do not count.
    ///   - variable: The value of `LOCALLLM_API_KEY`, one more key.
    init(file: String?, variable: String?) throws(UsageError) {
        if let file { digests = try Self.keys(in: file, for: "--api-key-file").map(Self.digest) }
        guard let variable else { return }
        guard Self.canBeSent(variable) else {
            throw UsageError("LOCALLLM_API_KEY: expected a key of visible ASCII characters; unset it to have none")
        }
        digests.append(Self.digest(variable))
    }

    /// The keys that a file holds, which an option names: at least one.
    static func keys(in file: String, for option: String) throws(UsageError) -> [String] {
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
                    "\(option) \(file): line \(number + 1) is no key: expected visible ASCII without spaces")
            }
            keys.append(key)
        }
        guard !keys.isEmpty else { throw UsageError("\(option) \(file): there is no key in this file") }
        return keys
    }

    /// Whether every user of the machine may read a file. Containers mount secrets that way, where it does no harm and
    /// cannot be changed; so this is to be warned of, not refused.
    static func isReadableByAll(_ file: String) -> Bool {
        var status = stat()
        return stat(file, &status) == 0 && status.st_mode & S_IROTH != 0
    }

    /// Passes a request that shows a key, as `Authorization: Bearer` or as `x-api-key`, or any where there are no keys.
    ///
    /// - Parameter required: Whether a key is asked for even where there are none, since there are other ways to prove who
    ///   one is.
    /// - Returns: Whose key it is; `nil` where there are none.
    func check(_ request: Request, required: Bool = false) throws(APIError) -> Principal? {
        guard !isEmpty || required else { return nil }
        let bearers = request.headers.all("Authorization").compactMap(Self.bearer)
        guard let key = bearers.first ?? request.headers["x-api-key"] else {
            throw .keyRefused("This server asks for an API key. Send it as `Authorization: Bearer KEY`.")
        }
        guard let number = number(of: key) else { throw .keyRefused("Incorrect API key provided.") }
        return Principal(kind: .apiKey, id: "\(number)")
    }

    /// Which of the known ones a key is, from 1. Takes the same time for every key of a length, right or wrong, whichever
    /// it is.
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

    static func canBeSent(_ key: String) -> Bool {
        !key.isEmpty && key.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }
}

extension APIError {
    fileprivate static func keyRefused(_ message: String) -> Self {
        .init(status: 401, kind: .invalidRequest, message: message, code: "invalid_api_key")
    }
}
