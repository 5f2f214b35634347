import Foundation
import Shim
import Wire

/// A reference to a secret, which the configuration file itself does not hold: `{"env": NAME}` or `{"file": PATH}`.
struct Secret: Decodable, Sendable {
    var env: String?
    var file: String?
    /// The secret; empty before `read`.
    private(set) var value = ""

    enum CodingKeys: String, CodingKey, CaseIterable { case env, file }

    /// - Parameter prefix: Prefix that the secret must have for clients to be able to send it.
    mutating func read(_ environment: [String: String], at path: String, prefix: String = "") throws(APIError) {
        let source: String
        switch (env, file) {
        case (let name?, nil):
            source = "the variable \(name)"
            guard let found = environment[name] else { throw .invalid(path, "\(source) is not set") }
            value = found
        case (nil, let file?):
            source = "the file \(file)"
            do { value = try String(contentsOfFile: file, encoding: .utf8) } catch {
                throw .invalid(path, "\(source): \(error.localizedDescription)")
            }
            value = value.trimmingCharacters(in: .whitespacesAndNewlines)
        default: throw .invalid(path, "expected {\"env\": NAME} or {\"file\": PATH}")
        }
        guard APIKeys.canBeSent(value) else {
            throw .invalid(path, "\(source) holds no valid key: expected visible ASCII without spaces")
        }
        guard value.utf8.starts(with: prefix.utf8) else {
            throw .invalid(path, "\(source) holds an invalid key: expected one that starts with \(prefix)")
        }
    }
}
