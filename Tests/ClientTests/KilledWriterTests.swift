import Foundation
import TestSupport
import Testing

@testable import Client

/// A history whose writer is killed, with no chance to clean up, at any moment.
@Suite struct KilledWriterTests {
    // Older versions of swift-testing run no test in a process of its own.
    #if compiler(>=6.2)
        /// Each round goes on where the one before was killed.
        @Test func `kill -9 loses nothing that was stored, and damages nothing`() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.url.appending(path: "history").path
            let stored = try directory.write([], as: "stored")
            for _ in 1...6 {
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [path = path as String, stored = stored as String] in
                    let repository = try await ChatRepository.open(path)
                    let id = try await repository.newConversation(policy: .localFirst)
                    let log = try #require(FileHandle(forWritingAtPath: stored))
                    try log.seekToEnd()
                    var isDoomed = false
                    while true {
                        var message = Message(isUser: false, messageContent: "", isComplete: false)
                        for _ in 0..<3 {
                            message.messageContent += "\(UUID()) "
                            try await repository.save(message, in: id)
                            try log.write(contentsOf: Data("\(message.id) \(message.messageContent.utf8.count)\n".utf8))
                            if isDoomed { continue }
                            isDoomed = true
                            Thread.detachNewThread {
                                // Any of the next tens of messages.
                                usleep(UInt32.random(in: 0...20_000))
                                kill(getpid(), SIGKILL)
                            }
                        }
                    }
                }
            }
            let repository = try await ChatRepository.open(path)
            var lengths: [String: Int] = [:]
            for conversation in try await repository.conversations() {
                for message in try await repository.messages(of: conversation.id) {
                    lengths["\(message.id)"] = message.messageContent.utf8.count
                }
            }
            let promises = try String(contentsOfFile: stored, encoding: .utf8).split(separator: "\n")
            #expect(!promises.isEmpty)
            for promise in promises {
                let words = promise.split(separator: " ")
                #expect(try lengths[String(words[0])] ?? 0 >= #require(Int(words[1])))
            }
            let database = try Database(path: path, busyTimeout: 0)
            #expect(try database.rows("PRAGMA integrity_check") { $0.text(0) } == ["ok"])
            // Fails if the index is not that of the messages.
            try database.execute("INSERT INTO messageText (messageText, rank) VALUES ('integrity-check', 1)")
        }
    #endif
}
