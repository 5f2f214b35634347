import CSQLite
import Foundation

/// A connection to an SQLite database: statements prepared once, values bound by type, errors that name the file.
///
/// Belongs to one task at a time: `ChatRepository`, an actor, is its only owner.
final class Database {
    enum Value {
        case integer(Int64)
        case text(String)
        case null
    }

    /// The row that a statement is at.
    struct Row {
        fileprivate let statement: OpaquePointer

        func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

        func text(_ column: Int32) -> String? {
            guard let bytes = sqlite3_column_text(statement, column) else { return nil }
            // By length: a text may contain zero bytes.
            let count = Int(sqlite3_column_bytes(statement, column))
            return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
        }
    }

    let path: String
    private let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]

    /// - Parameters:
    ///   - path: Made with mode 0600 if it does not exist. `nil` keeps everything in memory.
    ///   - busyTimeout: How long to wait for other programs that write, in milliseconds.
    init(path: String?, busyTimeout: Int32) throws(ChatRepositoryError) {
        self.path = path ?? ":memory:"
        if let path { Self.createPrivately(path) }
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(self.path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
        guard code == SQLITE_OK, let handle else {
            let detail = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            sqlite3_close_v2(handle)
            throw ChatRepositoryError(sqlite: code, path: self.path, detail: detail)
        }
        self.handle = handle
        sqlite3_busy_timeout(handle, busyTimeout)
        // SQLite opens what it may not write for reading only, and complains at the first write.
        if sqlite3_db_readonly(handle, "main") == 1 { throw error(SQLITE_READONLY) }
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
    }

    /// Runs statements that take no values.
    func execute(_ script: String) throws(ChatRepositoryError) {
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code) }
    }

    /// Runs a statement that gives no rows, or whose rows do not matter.
    func run(_ sql: String, _ values: Value...) throws(ChatRepositoryError) {
        _ = try rows(sql, values) { _ in }
    }

    func rows<Element>(
        _ sql: String, _ values: Value..., read: (Row) -> Element
    ) throws(ChatRepositoryError) -> [Element] {
        try rows(sql, values, read: read)
    }

    private func rows<Element>(
        _ sql: String, _ values: [Value], read: (Row) -> Element
    ) throws(ChatRepositoryError) -> [Element] {
        let statement = try prepared(sql)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (value, index) in zip(values, Int32(1)...) {
            let code = bind(value, to: index, of: statement)
            guard code == SQLITE_OK else { throw error(code) }
        }
        var elements: [Element] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: elements.append(read(Row(statement: statement)))
            case SQLITE_DONE: return elements
            case let code: throw error(code)
            }
        }
    }

    /// All of `body` is stored, or none.
    ///
    /// The lock is taken first, not at the first write, so that what `body` reads is still true when it writes.
    func transaction<Result>(
        _ body: () throws(ChatRepositoryError) -> Result
    ) throws(ChatRepositoryError) -> Result {
        try run("BEGIN IMMEDIATE")
        do {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            // Fails where SQLite has rolled back by itself, which is as well.
            try? run("ROLLBACK")
            throw error
        }
    }

    private func error(_ code: Int32) -> ChatRepositoryError {
        ChatRepositoryError(sqlite: code, path: path, detail: String(cString: sqlite3_errmsg(handle)))
    }

    private func prepared(_ sql: String) throws(ChatRepositoryError) -> OpaquePointer {
        if let statement = statements[sql] { return statement }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw error(code) }
        statements[sql] = statement
        return statement
    }

    private func bind(_ value: Value, to index: Int32, of statement: OpaquePointer) -> Int32 {
        switch value {
        case .integer(let integer): return sqlite3_bind_int64(statement, index, integer)
        case .null: return sqlite3_bind_null(statement, index)
        case .text(var text):
            // SQLITE_TRANSIENT, a cast that Swift does not import: SQLite copies the bytes before it returns.
            let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            return text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) { characters in
                    // An empty text may have no address, which SQLite would store as NULL.
                    guard let start = characters.baseAddress else {
                        return sqlite3_bind_text(statement, index, "", 0, copied)
                    }
                    return sqlite3_bind_text64(
                        statement, index, start, UInt64(characters.count), copied, UInt8(SQLITE_UTF8))
                }
            }
        }
    }

    /// Makes an empty file that only its owner can read, unless there is one already; SQLite's own files beside it get
    /// the same mode.
    ///
    /// It gets its name when it is closed: to close a file that another connection of this process has open would
    /// give up that one's locks (sqlite.org/howtocorrupt.html, 2.2). Where this fails, opening says why.
    private static func createPrivately(_ path: String) {
        var template = Array((path + ".XXXXXX").utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { return }
        close(descriptor)
        link(template, path)
        unlink(template)
    }
}
