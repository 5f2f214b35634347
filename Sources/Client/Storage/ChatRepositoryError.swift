import CSQLite
public import Foundation

/// Why the history cannot be read or written, with advice for the user.
public struct ChatRepositoryError: Error, Equatable, LocalizedError, CustomStringConvertible {
    /// What failed.
    public enum Reason: Sendable {
        case cannotOpen, readOnly, diskFull, busy, notADatabase, otherProgram, newerSchema, damaged, noConversation,
            searchTooLong, failed
    }

    public let reason: Reason
    public let path: String
    /// The problem and its solution, without the file's path.
    public let advice: String

    public var description: String { "\(path): \(advice)" }
    public var errorDescription: String? { description }

    /// - Parameter detail: SQLite's message, for errors without our own advice.
    init(sqlite code: Int32, path: String, detail: String) {
        // The low byte is the primary result code.
        switch code & 0xFF {
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH:
            self.init(
                .cannotOpen, path,
                "the history cannot be opened; its folder must exist, and you must be allowed to write in it")
        case SQLITE_READONLY:
            self.init(.readOnly, path, "the history cannot be written; change its permissions or choose another file")
        case SQLITE_FULL:
            self.init(.diskFull, path, "the disk is full; what was stored before is safe, make room and try again")
        case SQLITE_BUSY, SQLITE_LOCKED:
            self.init(.busy, path, "another program has been writing the history for too long; end it or try again")
        case SQLITE_NOTADB:
            self.init(.notADatabase, path, "this is not an SQLite database; choose another file for the history")
        case SQLITE_CORRUPT:
            self.init(
                .damaged, path,
                "the history is damaged (\(detail)); move it away, 'sqlite3 FILE .recover' saves what can be read")
        default: self.init(.failed, path, "the history cannot be used: \(detail) (SQLite error \(code))")
        }
    }

    init(_ reason: Reason, _ path: String, _ advice: String) {
        self.reason = reason
        self.path = path
        self.advice = advice
    }
}
