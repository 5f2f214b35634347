import CSQLite
import Foundation
import TestSupport
import Testing

@testable import Client

@Suite struct ChatRepositoryTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.url.appending(path: "history").path
    }

    private func user(_ text: String) -> Message { Message(isUser: true, messageContent: text) }

    private func modes() throws -> [Int] {
        try FileManager.default.contentsOfDirectory(atPath: directory.url.path).map {
            let attributes = try FileManager.default.attributesOfItem(atPath: directory.url.path + "/" + $0)
            return try #require(attributes[.posixPermissions] as? Int)
        }
    }

    // MARK: Keeping

    @Test func `messages come back as they were, in their order, and only their owner may read them`() async throws {
        let sent = [
            user("Grüße 👋🏽, a\0zero, \u{1B}[31m"),
            Message(isUser: false, messageContent: "", engine: .local),
            user(""),
            Message(isUser: true, messageContent: "", images: [TestImages.first, TestImages.second]),
            Message(isUser: false, messageContent: "half an ans", engine: .cloud, isComplete: false),
        ]
        do {
            let repository = try await ChatRepository.open(path)
            let id = try await repository.newConversation(policy: .cloudOnly)
            for message in sent { try await repository.save(message, in: id) }
            #expect(try modes() == [0o600, 0o600, 0o600])  // the database, its log, the log's index
        }
        let repository = try await ChatRepository.open(path)
        let conversation = try #require(try await repository.conversations().first)
        #expect(conversation.policy == .cloudOnly)
        #expect(conversation.beginning?.hasPrefix("Grüße") == true)
        #expect(try await repository.messages(of: conversation.id) == sent)
    }

    @Test func `images are deleted with their message`() async throws {
        let repository = try await ChatRepository.open(path)
        let id = try await repository.newConversation(policy: .localFirst)
        let message = Message(isUser: true, messageContent: "look", images: [TestImages.first])
        try await repository.save(message, in: id)
        try await repository.delete(message.id)
        let files = try FileManager.default.contentsOfDirectory(at: directory.url, includingPropertiesForKeys: nil)
        for file in files { #expect(try Data(contentsOf: file).range(of: TestImages.first) == nil) }
    }

    @Test func `a message saved again takes its own place`() async throws {
        let repository = try await ChatRepository.open(nil)
        let id = try await repository.newConversation(policy: .localFirst)
        var answer = Message(isUser: false, messageContent: "Hel", engine: .local, isComplete: false)
        try await repository.save(answer, in: id)
        try await repository.save(user("next"), in: id)
        answer.messageContent = "Hello"
        answer.isComplete = true
        try await repository.save(answer, in: id)
        let messages = try await repository.messages(of: id)
        #expect(messages.map(\.messageContent) == ["Hello", "next"])
        #expect(messages[0] == answer)
    }

    @Test func `conversations keep their messages apart, the one used last comes first`() async throws {
        let repository = try await ChatRepository.open(nil)
        let first = try await repository.newConversation(policy: .localFirst)
        let second = try await repository.newConversation(policy: .localFirst)
        try await repository.save(user("one"), in: first)
        try await repository.save(user("two"), in: second)
        #expect(try await repository.conversations().map(\.id) == [second, first])
        try await repository.deleteMessages(of: second)
        #expect(try await repository.messages(of: second) == [])
        #expect(try await repository.messages(of: first).map(\.messageContent) == ["one"])

        try await repository.deleteConversation(first)
        #expect(try await repository.conversations().map(\.id) == [second])
        #expect(try await repository.search("one") == [])
        let error = await #expect(throws: ChatRepositoryError.self) {
            try await repository.save(user("late"), in: first)
        }
        #expect(error?.reason == .noConversation)
    }

    @Test func `the conversation used last is first, even within a millisecond`() async throws {
        let repository = try await ChatRepository.open(nil)
        let first = try await repository.newConversation(policy: .localFirst)
        let second = try await repository.newConversation(policy: .localFirst)
        for _ in 0..<20 {
            for conversation in [first, second] {
                try await repository.touch(conversation)
                #expect(try await repository.conversations().first?.id == conversation)
            }
        }
    }

    @Test func `what is deleted is in none of the files any more`() async throws {
        let repository = try await ChatRepository.open(path)
        let id = try await repository.newConversation(policy: .localFirst)
        let secret = user("the password is xyzzy-plugh")
        try await repository.save(secret, in: id)
        try await repository.save(user("something else"), in: id)
        try #require(contents().contains("plugh"))
        try await repository.delete(secret.id)
        #expect(contents().contains("something else"))
        #expect(!contents().contains("plugh"))
        // The index holds three letters at a time.
        #expect(!contents().contains("pas"))
    }

    private func contents() -> String {
        ["", "-wal"].map { String(decoding: FileManager.default.contents(atPath: path + $0) ?? Data(), as: UTF8.self) }
            .joined()
    }

    // MARK: Searching

    @Test(arguments: [
        ("ÄRGER", ["viel Ärger, 100 %"]), ("00", ["viel Ärger, 100 %", "a_b, 1001"]), ("%", ["viel Ärger, 100 %"]),
        ("_", ["a_b, 1001"]), (#"\"#, [#"C:\x "quoted" OR 1"#]), (#""quoted" OR"#, [#"C:\x "quoted" OR 1"#]),
        ("*", []), ("你好", ["说你好世界"]), ("你好世", ["说你好世界"]), ("x\0", []), ("no such", []),
        (#"""#, [#"C:\x "quoted" OR 1"#]),
        ("messageContent:viel", []), ("NEAR(viel 100)", []), ("viel AND", []),
    ])
    func `a search finds its text anywhere, in any case, and is never a query`(
        text: String, found: [String]
    ) async throws {
        let repository = try await ChatRepository.open(nil)
        let id = try await repository.newConversation(policy: .localFirst)
        for text in ["viel Ärger, 100 %", "a_b, 1001", #"C:\x "quoted" OR 1"#, "说你好世界"] {
            try await repository.save(user(text), in: id)
        }
        let results = try await repository.search(text)
        #expect(results.map(\.message.messageContent) == found.reversed())
        #expect(results.allSatisfy { $0.conversation == id })
    }

    @Test func `a search gives the newest only, and refuses a text that is too long`() async throws {
        let repository = try await ChatRepository.open(nil)
        let id = try await repository.newConversation(policy: .localFirst)
        let long = String(repeating: "work ", count: ChatRepository.longestSearch / 5)
        for number in 1...3 { try await repository.save(user("\(long)\(number)"), in: id) }
        #expect(try await repository.search(long, limit: 2).map(\.message.messageContent) == [long + "3", long + "2"])
        let error = await #expect(throws: ChatRepositoryError.self) { try await repository.search(long + "1") }
        #expect(error?.reason == .searchTooLong)
    }

    // MARK: Files of other makes

    @Test func `a history of an older version is brought up to date, its messages are found`() async throws {
        do {
            let database = try Database(path: path, busyTimeout: 0)
            try database.execute(Schema.steps[0])
            try database.execute(
                """
                PRAGMA user_version = 1; PRAGMA application_id = \(Schema.applicationID);
                INSERT INTO conversations VALUES (1, 'localFirst', 0);
                INSERT INTO messages VALUES (1, '\(UUID().uuidString)', 1, 1, 'from long ago', 0, NULL, 1);
                """)
        }
        let repository = try await ChatRepository.open(path)
        #expect(try await repository.search("LONG AGO").map(\.message.messageContent) == ["from long ago"])
        _ = try await ChatRepository.open(path)
    }

    @Test(arguments: [
        (99, Schema.applicationID, ChatRepositoryError.Reason.newerSchema), (1, 7, .otherProgram),
        (0, 0, .otherProgram),
    ])
    func `other databases are refused and stay as they are`(
        version: Int, application: Int64, reason: ChatRepositoryError.Reason
    ) async throws {
        do {
            let database = try Database(path: path, busyTimeout: 0)
            try database.execute(
                "CREATE TABLE other (x); PRAGMA user_version = \(version); PRAGMA application_id = \(application)")
        }
        let before = FileManager.default.contents(atPath: path)
        let error = await #expect(throws: ChatRepositoryError.self) { try await ChatRepository.open(path) }
        #expect(error?.reason == reason)
        #expect(error?.description.contains(path) == true)
        #expect(FileManager.default.contents(atPath: path) == before)
    }

    @Test func `what is no database is refused by name`() async throws {
        _ = try directory.write(Array("Dear diary, this is a text and no database.".utf8), as: "history")
        let error = await #expect(throws: ChatRepositoryError.self) { try await ChatRepository.open(path) }
        #expect(error?.reason == .notADatabase)
        #expect(error?.description.contains(path) == true)
    }

    @Test func `a missing folder is named`() async throws {
        let path = directory.url.appending(path: "missing/history").path
        let error = await #expect(throws: ChatRepositoryError.self) { try await ChatRepository.open(path) }
        #expect(error?.reason == .cannotOpen)
        #expect(error?.description.contains(path) == true)
    }

    @Test(.enabled(if: geteuid() != 0, "the superuser may write everything"))
    func `a file that may not be written is refused`() async throws {
        _ = try await ChatRepository.open(path)
        try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: path)
        let error = await #expect(throws: ChatRepositoryError.self) { try await ChatRepository.open(path) }
        #expect(error?.reason == .readOnly)
    }

    // MARK: Trouble

    @Test func `when the disk is full the message is not stored, the others stay and the next one is`() async throws {
        let database = try Database(path: path, busyTimeout: 0)
        try Schema.prepare(database)
        try database.execute("PRAGMA max_page_count = 40")
        let repository = ChatRepository(database)
        let id = try await repository.newConversation(policy: .localFirst)
        try await repository.save(user("small"), in: id)
        let error = await #expect(throws: ChatRepositoryError.self) {
            try await repository.save(user(String(repeating: "large", count: 100_000)), in: id)
        }
        #expect(error?.reason == .diskFull)
        try await repository.save(user("small too"), in: id)
        #expect(try await repository.messages(of: id).map(\.messageContent) == ["small", "small too"])
    }

    @Test func `when another program holds the file too long the error says so`() async throws {
        let other = try Database(path: path, busyTimeout: 0)
        try Schema.prepare(other)
        let mine = try Database(path: path, busyTimeout: 0)
        let repository = ChatRepository(mine)
        let id = try await repository.newConversation(policy: .localFirst)
        try other.execute("BEGIN IMMEDIATE")
        let error = await #expect(throws: ChatRepositoryError.self) { try await repository.save(user("a"), in: id) }
        #expect(error?.reason == .busy)
        try other.execute("COMMIT")
        try await repository.save(user("a"), in: id)
    }

    @Test func `many open a new history at once and write to it, and nothing is lost`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 1...8 {
                group.addTask {
                    let repository = try await ChatRepository.open(path)
                    let id = try await repository.newConversation(policy: .localFirst)
                    for number in 1...20 { try await repository.save(user("\(writer): \(number)"), in: id) }
                }
            }
            try await group.waitForAll()
        }
        let repository = try await ChatRepository.open(path)
        let conversations = try await repository.conversations()
        #expect(conversations.count == 8)
        for conversation in conversations {
            let texts = try await repository.messages(of: conversation.id).map(\.messageContent)
            let writer = try #require(texts.first?.first)
            #expect(texts == (1...20).map { "\(writer): \($0)" })
        }
    }
}
