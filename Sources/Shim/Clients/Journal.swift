import Foundation
import Platform
import Wire

/// A write-ahead log of JSON lines: a record is appended before it takes effect, so a killed process loses none.
struct Journal<Record: Codable & Sendable>: Sendable {
    let path: String
    private let output: FileHandle
    /// Lines in the file; `Int.max` while the last one may be torn.
    private(set) var count: Int

    /// Reads the records of an earlier process; empty if there is no file.
    ///
    /// Skips a last line without a line feed: that process ended while writing it, so the record never took effect.
    static func read(_ path: String) throws -> [Record] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        let content: Data
        do { content = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error ?? error
            throw JournalError(description: "\(path): \(cause.localizedDescription)")
        }
        var lines = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        lines.removeLast()
        return try lines.enumerated().map { index, line in
            do { return try JSON.decode(Record.self, from: Array(line)) } catch {
                throw JournalError(
                    description:
                        "\(path): line \(index + 1) is damaged. Remove the file to start with empty client state.")
            }
        }
    }

    /// Replaces the file atomically with these records; mode 0600.
    init(_ path: String, _ records: [Record]) throws {
        self.path = path
        let new = path + ".new"
        try? FileManager.default.removeItem(atPath: new)
        guard FileManager.default.createFile(atPath: new, contents: nil, attributes: [.posixPermissions: 0o600]),
            let output = FileHandle(forWritingAtPath: new)
        else { throw JournalError(description: "\(new): \(String(cString: strerror(errno)))") }
        try output.write(contentsOf: Data(try records.flatMap(Self.line)))
        guard rename(new, path) == 0 else {
            throw JournalError(description: "\(path): \(String(cString: strerror(errno)))")
        }
        self.output = output
        count = records.count
    }

    mutating func append(_ record: Record) throws {
        let before = count
        count = .max
        try output.write(contentsOf: Data(try Self.line(record)))
        count = before + 1
    }

    private static func line(_ record: Record) throws -> [UInt8] { try JSON.encode(record) + [UInt8(ascii: "\n")] }
}

struct JournalError: LocalizedError {
    let description: String
    var errorDescription: String? { "state_file: \(description)" }
}
