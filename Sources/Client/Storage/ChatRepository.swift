import Dispatch
public import Foundation

/// The history: conversations and their messages in an SQLite file.
///
/// When a call returns, what it did survives the end of the program in whatever way, and that of the machine. Several
/// programs may use a file at once.
public actor ChatRepository {
    private let executor = QueueExecutor()
    private let database: Database
    /// Pictures of messages that were saved since this was opened.
    private var images: [Message.ID: [Data]] = [:]

    /// The disk may keep its caller waiting: that holds up a thread of our own, and none of the pool that everybody shares.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens a history; makes it, readable by its owner only, if there is none.
    ///
    /// - Parameter path: `nil` keeps it in memory, for as long as the repository lives.
    public static func open(_ path: String?) async throws(ChatRepositoryError) -> ChatRepository {
        let database = try Database(path: path, busyTimeout: 5000)
        try Schema.prepare(database)
        return ChatRepository(database)
    }

    init(_ database: sending Database) { self.database = database }

    // MARK: Conversations

    public func newConversation(policy: FallbackPolicy) throws(ChatRepositoryError) -> ConversationID {
        try database.rows(
            "INSERT INTO conversations (policy, usedAt) VALUES (?, ?) RETURNING id",
            .text(policy.rawValue), .integer(Date().milliseconds)
        ) { $0.integer(0) }[0]
    }

    /// Every conversation, the one used last first.
    public func conversations() throws(ChatRepositoryError) -> [ConversationSummary] {
        try database.rows(
            """
            SELECT id, policy, usedAt,
                (SELECT substr(messageContent, 1, 80) FROM messages WHERE conversation = conversations.id
                    ORDER BY number LIMIT 1)
            FROM conversations ORDER BY usedAt DESC, id DESC
            """
        ) { row in
            ConversationSummary(
                id: row.integer(0), policy: row.text(1).flatMap(FallbackPolicy.init) ?? .localFirst,
                usedAt: Date(milliseconds: row.integer(2)), beginning: row.text(3))
        }
    }

    public func setPolicy(_ policy: FallbackPolicy, of conversation: ConversationID) throws(ChatRepositoryError) {
        try database.run(
            "UPDATE conversations SET policy = ? WHERE id = ?", .text(policy.rawValue), .integer(conversation))
    }

    /// Makes it the one used last.
    public func touch(_ conversation: ConversationID) throws(ChatRepositoryError) {
        let touched = try database.rows(
            "UPDATE conversations SET usedAt = ? WHERE id = ? RETURNING id",
            .integer(Date().milliseconds), .integer(conversation)
        ) { $0.integer(0) }
        guard !touched.isEmpty else {
            throw ChatRepositoryError(
                .noConversation, database.path, "conversation \(conversation) is not in the history; start a new one")
        }
    }

    public func deleteConversation(_ conversation: ConversationID) throws(ChatRepositoryError) {
        try database.run("DELETE FROM conversations WHERE id = ?", .integer(conversation))
        try forget()
    }

    // MARK: Messages

    /// In the order in which they came.
    public func messages(of conversation: ConversationID) throws(ChatRepositoryError) -> [Message] {
        try database.rows(
            "SELECT \(Self.columns) FROM messages WHERE conversation = ? ORDER BY number", .integer(conversation),
            read: Self.message
        ).map { message in
            var message = message
            message.images = images[message.id] ?? []
            return message
        }
    }

    /// Stores a message at the end of a conversation, or as it has become since, in its place.
    public func save(_ message: Message, in conversation: ConversationID) throws(ChatRepositoryError) {
        if !message.images.isEmpty { images[message.id] = message.images }
        try database.transaction { () throws(ChatRepositoryError) in
            try touch(conversation)
            try database.run(
                """
                INSERT INTO messages (id, conversation, isUser, messageContent, timestamp, engine, isComplete)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET messageContent = excluded.messageContent, engine = excluded.engine,
                    isComplete = excluded.isComplete
                """,
                .text(message.id.uuidString), .integer(conversation), .integer(message.isUser ? 1 : 0),
                .text(message.messageContent), .integer(message.timestamp.milliseconds),
                message.engine.map { .text($0.rawValue) } ?? .null, .integer(message.isComplete ? 1 : 0))
        }
    }

    public func delete(_ message: Message.ID) throws(ChatRepositoryError) {
        images[message] = nil
        try database.run("DELETE FROM messages WHERE id = ?", .text(message.uuidString))
        try forget()
    }

    public func deleteMessages(of conversation: ConversationID) throws(ChatRepositoryError) {
        try database.run("DELETE FROM messages WHERE conversation = ?", .integer(conversation))
        try forget()
    }

    /// Most characters of a text to search for: what it takes grows with their number times that of the matches of each.
    static let longestSearch = 1000

    /// The latest messages of all conversations that contain a text, in upper or lower case; the newest first.
    public func search(_ text: String, limit: Int = 50) throws(ChatRepositoryError) -> [SearchResult] {
        let count = text.unicodeScalars.count
        guard count <= Self.longestSearch else {
            throw ChatRepositoryError(
                .searchTooLong, database.path,
                "texts of up to \(Self.longestSearch) characters can be searched for, this one has \(count)")
        }
        // SQLite's patterns end at a zero byte, and would find what comes before it.
        if text.utf8.contains(0) { return [] }
        // The index knows three characters and more. A phrase in quotes has no syntax but the quotes.
        let isIndexed = count >= 3
        let (condition, pattern) =
            isIndexed
            ? (
                "number IN (SELECT rowid FROM messageText WHERE messageText MATCH ?)",
                "\"" + text.replacing("\"", with: "\"\"") + "\""
            )
            : ("messageContent LIKE ? ESCAPE '\\'", "%" + text.replacing(/[%_\\]/) { "\\" + $0.output } + "%")
        return try database.rows(
            "SELECT \(Self.columns), conversation FROM messages WHERE \(condition) ORDER BY number DESC LIMIT ?",
            .text(pattern), .integer(Int64(limit))
        ) { SearchResult(conversation: $0.integer(6), message: Self.message($0)) }
    }

    private static let columns = "id, isUser, messageContent, timestamp, engine, isComplete"

    /// - Parameter row: Begins with `columns`.
    private static func message(_ row: Database.Row) -> Message {
        Message(
            // Another program may have written what is no UUID.
            id: row.text(0).flatMap(UUID.init) ?? UUID(), isUser: row.integer(1) != 0,
            messageContent: row.text(2) ?? "", timestamp: Date(milliseconds: row.integer(3)),
            engine: row.text(4).flatMap(EngineKind.init), isComplete: row.integer(5) != 0)
    }

    /// Takes deleted text out of the index and the log too. Where another program is reading the log, that follows when
    /// the last one closes the file.
    private func forget() throws(ChatRepositoryError) {
        try database.execute(
            "INSERT INTO messageText (messageText) VALUES ('optimize'); PRAGMA wal_checkpoint(TRUNCATE)")
    }
}

/// Runs an actor's work on a queue of its own.
private final class QueueExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "ChatRepository")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
