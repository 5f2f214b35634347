import CommandLineParsing
import Foundation
import JSON
import Platform
import Wire

/// A write-ahead log of JSON lines: a record is appended before it takes effect, so a killed process loses none.
package struct Journal<Record: Codable & Sendable>: Sendable {
    package let path: String
    private let output: FileHandle
    /// Lines in the file; `Int.max` while the last one may be torn.
    package private(set) var count: Int

    /// Reads the records of an earlier process; empty if there is no file.
    ///
    /// Skips a last line without a line feed: that process ended while writing it, so the record never took effect. Other
    /// lines that are damaged are moved to a file with the suffix `.damaged`.
    ///
    /// - Throws: `JournalError` if the file cannot be read, or if all of its lines are damaged.
    package static func read(_ path: String) throws -> [Record] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        let kind = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        guard ![.typeCharacterSpecial, .typeBlockSpecial, .typeSocket, .typeUnknown].contains(kind) else {
            throw JournalError(description: "\(path): this is not a regular file")
        }
        let content: Data
        do { content = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error ?? error
            throw JournalError(description: "\(path): \(cause.localizedDescription)")
        }
        var lines = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        lines.removeLast()
        var records: [Record] = []
        var damaged: [(number: Int, line: Data)] = []
        for (index, line) in lines.enumerated() {
            do { records.append(try JSON.decode(Record.self, from: Array(line))) } catch {
                damaged.append((index + 1, line))
            }
        }
        guard let first = damaged.first else { return records }
        guard !records.isEmpty else {
            throw JournalError(
                description:
                    "\(path): this is no state file: line 1 and all others are damaged. Move it away to start without.")
        }
        let aside = path + ".damaged"
        let output = try openPrivately(aside, O_APPEND)
        try write(damaged.flatMap { $0.line + [UInt8(ascii: "\n")] }, to: output, path: aside)
        Shim.complain(
            """
            warning: \(path): \(damaged.count) of \(lines.count) lines are damaged, the first is line \(first.number). They were moved \
            to \(aside); the others are in effect.
            """)
        return records
    }

    /// Opens a file for writing that only its owner can read.
    private static func openPrivately(_ path: String, _ flags: Int32) throws -> FileHandle {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0o600)
        guard descriptor >= 0 else { throw JournalError(description: "\(path): \(String(cString: strerror(errno)))") }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    private static func write(_ bytes: [UInt8], to file: FileHandle, path: String) throws {
        guard writeAll(bytes, to: file.fileDescriptor) else {
            throw JournalError(description: "\(path): cannot be written: \(String(cString: strerror(errno)))")
        }
    }

    /// Replaces the file atomically with these records; mode 0600.
    package init(_ path: String, _ records: [Record]) throws {
        self.path = path
        let new = path + ".new"
        try? FileManager.default.removeItem(atPath: new)
        output = try Self.openPrivately(new, O_EXCL)
        do {
            try Self.write(try records.flatMap(Self.line), to: output, path: new)
            guard rename(new, path) == 0 else {
                throw JournalError(description: "\(path): \(String(cString: strerror(errno)))")
            }
        } catch {
            try? FileManager.default.removeItem(atPath: new)
            throw error
        }
        count = records.count
    }

    /// Appends a record of a change that has been made in memory. Rewrites the file instead once most of its lines are stale
    /// or its last line may be torn.
    ///
    /// - Parameters:
    ///   - inEffect: How many records are in effect.
    ///   - records: These, this one among them.
    package mutating func note(_ record: Record, inEffect: Int, _ records: @autoclosure () -> [Record]) throws {
        if count > 2 * inEffect + 100 { self = try Journal(path, records()) } else { try append(record) }
    }

    package mutating func append(_ record: Record) throws {
        let before = count
        count = .max
        try Self.write(try Self.line(record), to: output, path: path)
        count = before + 1
    }

    private static func line(_ record: Record) throws -> [UInt8] { try JSON.encode(record) + [UInt8(ascii: "\n")] }
}

struct JournalError: LocalizedError {
    let description: String
    var errorDescription: String? { "state_file: \(description)" }
}
