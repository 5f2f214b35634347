import Dispatch
public import Foundation

/// The chat history: conversations and their messages in an SQLite file.
///
/// Durable: when a call returns, its changes survive crashes and power failures. Several programs may use a file at
/// once.
public actor ChatRepository {
    private let executor = QueueExecutor()
    private let database: Database

    /// A serial queue, so that slow disk access does not block a thread of the shared pool.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens a history, or creates one that only its owner can read.
    ///
    /// - Parameter path: Path of the file; `nil`: in memory only.
    public static func open(_ path: String?) async throws(ChatRepositoryError) -> ChatRepository {
        let database = try Database(path: path, busyTimeout: 5000)
        try Schema.prepare(database)
        return ChatRepository(database)
    }

    init(_ database: sending Database) { self.database = database }

    // MARK: Conversations

    /// Adds an empty conversation.
    public func newConversation(policy: FallbackPolicy) throws(ChatRepositoryError) -> ConversationID {
        try database.rows(
            "INSERT INTO conversations (policy, usedAt) VALUES (?, ?) RETURNING id",
            .text(policy.rawValue), .integer(Date().milliseconds)
        ) { $0.integer(0) }[0]
    }

    /// All conversations, the most recently used first.
    public func conversations() throws(ChatRepositoryError) -> [ConversationSummary] {
        try database.rows(
            """
            SELECT id, policy, usedAt,
                (SELECT substr(messageContent, 1, \(ConversationSummary.beginningLength)) FROM messages WHERE conversation = conversations.id
                    ORDER BY number LIMIT 1)
            FROM conversations ORDER BY usedAt DESC, id DESC
            """
        ) { row in
            ConversationSummary(
                id: row.integer(0), policy: row.text(1).flatMap(FallbackPolicy.init) ?? .localFirst,
                usedAt: Date(milliseconds: row.integer(2)), beginning: row.text(3))
        }
    }

    /// Stores the policy of a conversation.
    public func setPolicy(_ policy: FallbackPolicy, of conversation: ConversationID) throws(ChatRepositoryError) {
        try database.run(
            "UPDATE conversations SET policy = ? WHERE id = ?", .text(policy.rawValue), .integer(conversation))
    }

    /// Marks a conversation as the most recently used, even within the millisecond in which another one was used.
    public func touch(_ conversation: ConversationID) throws(ChatRepositoryError) {
        let touched = try database.rows(
            """
            UPDATE conversations
            SET usedAt = max(?1, (SELECT coalesce(max(usedAt) + 1, 0) FROM conversations WHERE id <> ?2))
            WHERE id = ?2 RETURNING id
            """,
            .integer(Date().milliseconds), .integer(conversation)
        ) { $0.integer(0) }
        guard !touched.isEmpty else {
            throw ChatRepositoryError(
                .noConversation, database.path, "conversation \(conversation) is not in the history; start a new one")
        }
    }

    /// Deletes a conversation with its messages.
    public func deleteConversation(_ conversation: ConversationID) throws(ChatRepositoryError) {
        try database.run("DELETE FROM conversations WHERE id = ?", .integer(conversation))
        try forget()
    }

    // MARK: Messages

    /// The messages of a conversation in order.
    public func messages(of conversation: ConversationID) throws(ChatRepositoryError) -> [Message] {
        var messages = try database.rows(
            "SELECT \(Self.columns) FROM messages WHERE conversation = ? ORDER BY number", .integer(conversation),
            read: Self.message)
        let rows = try database.rows(
            """
            SELECT message, file FROM pictures JOIN messages ON messages.id = message
            WHERE conversation = ? ORDER BY number, position
            """, .integer(conversation)
        ) { (message: $0.text(0).flatMap(UUID.init), file: $0.blob(1)) }
        let files = Dictionary(grouping: rows, by: \.message)
        for index in messages.indices { messages[index].images = files[messages[index].id]?.map(\.file) ?? [] }
        return messages
    }

    /// Appends a message to a conversation, or updates it if it is already stored.
    public func save(_ message: Message, in conversation: ConversationID) throws(ChatRepositoryError) {
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
            for (position, file) in message.images.enumerated() {
                try database.run(
                    "INSERT OR REPLACE INTO pictures (message, position, file) VALUES (?, ?, ?)",
                    .text(message.id.uuidString), .integer(Int64(position)), .blob(file))
            }
        }
    }

    public func delete(_ message: Message.ID) throws(ChatRepositoryError) {
        try database.run("DELETE FROM messages WHERE id = ?", .text(message.uuidString))
        try forget()
    }

    /// Deletes all messages of a conversation.
    public func deleteMessages(of conversation: ConversationID) throws(ChatRepositoryError) {
        try database.run("DELETE FROM messages WHERE conversation = ?", .integer(conversation))
        try forget()
    }

    /// Maximum characters of a search text, since the cost grows with characters times matches of each.
    static let longestSearch = 1000

    /// The latest messages of all conversations that contain a text, ignoring case, newest first. They come without their
    /// images.
    public func search(_ text: String, limit: Int = 50) throws(ChatRepositoryError) -> [SearchResult] {
        let count = text.unicodeScalars.count
        guard count <= Self.longestSearch else {
            throw ChatRepositoryError(
                .searchTooLong, database.path,
                "texts of up to \(Self.longestSearch) characters can be searched for, this one has \(count)")
        }
        // SQLite's patterns end at a zero byte and would match the text before it.
        if text.utf8.contains(0) { return [] }
        // The trigram index needs at least three characters. A quoted phrase has no other syntax.
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

    /// - Parameter row: A row that begins with `columns`.
    private static func message(_ row: Database.Row) -> Message {
        Message(
            // Another program may have written an invalid UUID.
            id: row.text(0).flatMap(UUID.init) ?? UUID(), isUser: row.integer(1) != 0,
            messageContent: row.text(2) ?? "", timestamp: Date(milliseconds: row.integer(3)),
            engine: row.text(4).flatMap(EngineKind.init), isComplete: row.integer(5) != 0)
    }

    /// Also removes deleted text from the index and the write-ahead log. If another program is reading the log, it is
    /// removed when the last one closes the file.
    private func forget() throws(ChatRepositoryError) {
        try database.execute(
            "INSERT INTO messageText (messageText) VALUES ('optimize'); PRAGMA wal_checkpoint(TRUNCATE)")
    }
}

/// Runs an actor on its own queue.
private final class QueueExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "ChatRepository")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
