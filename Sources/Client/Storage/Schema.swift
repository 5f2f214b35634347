import Platform

/// The tables of the history and their migrations.
enum Schema {
    /// "LLMc", which identifies databases of this program.
    static let applicationID: Int64 = 0x4C4C_4D63

    /// Step *i* migrates version *i* to *i* + 1. Released steps never change; new ones are appended.
    static let steps = [
        """
        CREATE TABLE conversations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            policy TEXT NOT NULL,
            usedAt INTEGER NOT NULL -- milliseconds since 1970, like every time here
        ) STRICT;

        CREATE TABLE messages (
            number INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they came
            id TEXT NOT NULL UNIQUE,
            conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
            isUser INTEGER NOT NULL,
            messageContent TEXT NOT NULL,
            timestamp INTEGER NOT NULL,
            engine TEXT,
            isComplete INTEGER NOT NULL
        ) STRICT;

        CREATE INDEX messagesOfConversation ON messages (conversation, number);
        """,
        // Trigrams match any substring, also in languages without spaces. The texts are not stored twice.
        """
        CREATE VIRTUAL TABLE messageText USING fts5 (
            messageContent, content = 'messages', content_rowid = 'number', tokenize = 'trigram'
        );
        INSERT INTO messageText (messageText) VALUES ('rebuild');

        CREATE TRIGGER indexAdded AFTER INSERT ON messages BEGIN
            INSERT INTO messageText (rowid, messageContent) VALUES (new.number, new.messageContent);
        END;
        CREATE TRIGGER indexRemoved AFTER DELETE ON messages BEGIN
            INSERT INTO messageText (messageText, rowid, messageContent)
                VALUES ('delete', old.number, old.messageContent);
        END;
        CREATE TRIGGER indexChanged AFTER UPDATE OF messageContent ON messages BEGIN
            INSERT INTO messageText (messageText, rowid, messageContent)
                VALUES ('delete', old.number, old.messageContent);
            INSERT INTO messageText (rowid, messageContent) VALUES (new.number, new.messageContent);
        END;
        """,
        """
        CREATE TABLE pictures (
            message TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
            position INTEGER NOT NULL, -- from 0, in the order of the message
            file BLOB NOT NULL, -- PNG, JPEG, WebP or GIF
            PRIMARY KEY (message, position)
        ) STRICT;
        """,
    ]

    /// Sets up the connection, and migrates an older or new file to this program's version.
    ///
    /// Refuses databases of other programs before anything is written.
    static func prepare(_ database: Database) throws(ChatRepositoryError) {
        let isCurrent = try version(of: database) == steps.count
        try database.execute(
            """
            PRAGMA foreign_keys = ON;
            PRAGMA secure_delete = ON; -- overwrites what is deleted
            PRAGMA synchronous = FULL; -- what was stored survives a power failure too
            """)
        try useWriteAheadLog(database)
        if isCurrent { return }
        try database.transaction { () throws(ChatRepositoryError) in
            // Read the version again under the lock: another program may have migrated meanwhile.
            for step in steps.dropFirst(try version(of: database)) { try database.execute(step) }
            try database.execute("PRAGMA user_version = \(steps.count); PRAGMA application_id = \(applicationID)")
        }
    }

    /// Switches to WAL mode, in which readers and a writer do not block each other. SQLite does not apply its busy
    /// timeout to this switch, so it is retried here.
    private static func useWriteAheadLog(_ database: Database) throws(ChatRepositoryError) {
        let deadline = ContinuousClock.now + .seconds(5)
        while true {
            do { return try database.execute("PRAGMA journal_mode = WAL") } catch {
                guard error.reason == .busy, .now < deadline else { throw error }
                usleep(5_000)
            }
        }
    }

    private static func version(of database: Database) throws(ChatRepositoryError) -> Int {
        let facts = try database.rows(
            """
            SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
            FROM pragma_user_version, pragma_application_id
            """
        ) { (version: Int($0.integer(0)), application: $0.integer(1), tables: $0.integer(2)) }[0]
        if facts.tables == 0 { return 0 }
        guard facts.application == applicationID else {
            throw ChatRepositoryError(
                .otherProgram, database.path,
                "this database belongs to another program; choose another file for the history")
        }
        guard facts.version <= steps.count else {
            throw ChatRepositoryError(
                .newerSchema, database.path,
                """
                a newer version of this program made the history (schema \(facts.version), this program knows \
                \(steps.count)); update the program or choose another file
                """)
        }
        return facts.version
    }
}
