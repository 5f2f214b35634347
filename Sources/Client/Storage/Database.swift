import CSQLite
import Foundation

/// A connection to an SQLite database with cached statements, typed values and errors that name the file.
///
/// Not thread-safe; owned by the actor `ChatRepository`.
final class Database {
    enum Value {
        case integer(Int64)
        case text(String)
        case blob(Data)
        case null
    }

    /// The current row of a statement.
    struct Row {
        fileprivate let statement: OpaquePointer

        func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

        func text(_ column: Int32) -> String? {
            guard let bytes = sqlite3_column_text(statement, column) else { return nil }
            // By length: a text may contain zero bytes.
            let count = Int(sqlite3_column_bytes(statement, column))
            return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
        }

        func blob(_ column: Int32) -> Data {
            guard let bytes = sqlite3_column_blob(statement, column) else { return Data() }
            return Data(bytes: bytes, count: Int(sqlite3_column_bytes(statement, column)))
        }
    }

    let path: String
    private let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]

    /// - Parameters:
    ///   - path: Path of the file, created with mode 0600 if missing; `nil`: in memory.
    ///   - busyTimeout: Maximum time to wait for other programs that write, in milliseconds.
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
        // SQLite opens a file without write permission read-only and fails at the first write.
        if sqlite3_db_readonly(handle, "main") == 1 { throw error(SQLITE_READONLY) }
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
    }

    /// Runs statements without parameters.
    func execute(_ script: String) throws(ChatRepositoryError) {
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code) }
    }

    /// Runs a statement and ignores its rows.
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

    /// Stores all changes of `body`, or none.
    ///
    /// Takes the write lock at the start, so that what `body` reads cannot change before it writes.
    func transaction<Result>(
        _ body: () throws(ChatRepositoryError) -> Result
    ) throws(ChatRepositoryError) -> Result {
        try run("BEGIN IMMEDIATE")
        do {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            // Fails if SQLite has already rolled back.
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
        // SQLITE_TRANSIENT, a cast that Swift does not import: SQLite copies the bytes before it returns.
        let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .integer(let integer): return sqlite3_bind_int64(statement, index, integer)
        case .null: return sqlite3_bind_null(statement, index)
        case .blob(let data):
            return data.withUnsafeBytes { bytes in
                guard let start = bytes.baseAddress else { return sqlite3_bind_zeroblob(statement, index, 0) }
                return sqlite3_bind_blob64(statement, index, start, UInt64(bytes.count), copied)
            }
        case .text(var text):
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

    /// Creates an empty file that only its owner can read, unless it exists. SQLite's journal files get the same mode.
    ///
    /// The file is linked to its name only after closing: closing a file that another connection of this process has
    /// open would release that connection's locks (sqlite.org/howtocorrupt.html, 2.2). If this fails, opening reports
    /// the error.
    private static func createPrivately(_ path: String) {
        var template = Array((path + ".XXXXXX").utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { return }
        close(descriptor)
        link(template, path)
        unlink(template)
    }
}
