import Foundation
import Glibc
import Wire

/// Records as lines of JSON, each at the end of a file before anything is done about it: who kills the process loses none.
struct Journal<Record: Codable & Sendable>: Sendable {
    let path: String
    private let output: FileHandle
    /// Lines in the file; without bound if the last one may be torn.
    private(set) var count: Int

    /// Those of a file that an earlier process has left; none where there is no file yet.
    ///
    /// A last line without an end was being written when that process ended, and was not acted upon.
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
                    description: "\(path): line \(index + 1) is damaged. Without the file, clients begin anew.")
            }
        }
    }

    /// Begins the file anew, for its owner only.
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
