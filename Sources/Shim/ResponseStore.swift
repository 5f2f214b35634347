import LocalLLM
import Synchronization
import Wire

/// The last responses, so that clients can go on with them by their id. With a file they survive a restart.
final class ResponseStore: Sendable {
    struct Entry: Sendable {
        let response: ModelResponse
        /// The conversation up to and including the answer, without instructions.
        let conversation: [ChatMessage]
        fileprivate let bytes: Int

        init(_ response: ModelResponse, conversation: [ChatMessage]) {
            self.response = response
            self.conversation = conversation
            // Roughly: what clients can make long are texts, and each of them counts.
            let answer = response.output.flatMap { $0.content ?? [] }.reduce(0) { $0 + $1.text.utf8.count }
            let logprobs = response.output.flatMap { $0.content ?? [] }.reduce(0) { $0 + ($1.logprobs?.count ?? 0) }
            let metadata = response.metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
            let messages = conversation.reduce(0) { $0 + $1.content.utf8.count + ($1.reasoning?.utf8.count ?? 0) + 64 }
            // The answer's calls are the last message's.
            let calls = conversation.flatMap { $0.toolCalls ?? [] }
                .reduce(0) { $0 + $1.name.utf8.count + 2 * $1.arguments.utf8.count + 128 }
            let asked = (response.instructions?.utf8.count ?? 0) + response.tools.text.count
            bytes = answer + logprobs * 2048 + metadata + asked + messages + calls + 1024
        }
    }

    private struct State {
        var entries: [String: Entry] = [:]
        /// Oldest first.
        var order: [String] = []
        var bytes = 0
        var journal: Journal<Record>?

        mutating func remove(_ id: String) -> Bool {
            guard let entry = entries.removeValue(forKey: id) else { return false }
            order.removeAll { $0 == id }
            bytes -= entry.bytes
            return true
        }

        var records: [Record] { order.compactMap { entries[$0].map(Record.init) } }
    }

    /// A line of the file: a response with its conversation, or the id of one that was deleted.
    private struct Record: Codable, Sendable {
        var response: ModelResponse?
        var conversation: [ChatMessage]?
        var deleted: String?

        init(_ entry: Entry) { (response, conversation) = (entry.response, entry.conversation) }

        init(deleted: String) { self.deleted = deleted }

        var entry: Entry? {
            guard let response, let conversation else { return nil }
            return Entry(response, conversation: conversation)
        }
    }

    private let maximumCount: Int
    private let maximumBytes: Int
    private let state: Mutex<State>

    /// Responses in memory only.
    init(maximumCount: Int = 1000, maximumBytes: Int = 64 << 20) {
        self.maximumCount = maximumCount
        self.maximumBytes = maximumBytes
        state = Mutex(State())
    }

    /// - Parameter file: Where they are kept from one process to the next; `nil`: nowhere.
    /// - Throws: `JournalError` for a file that is no such file, or cannot be written.
    convenience init(file: String?, maximumCount: Int = 1000, maximumBytes: Int = 64 << 20) throws {
        self.init(maximumCount: maximumCount, maximumBytes: maximumBytes)
        guard let file else { return }
        try state.withLock { state in
            for record in try Journal<Record>.read(file) {
                if let entry = record.entry { keep(entry, &state) }
                if let id = record.deleted { _ = state.remove(id) }
            }
            state.journal = try Journal(file, state.records)
        }
    }

    /// Keeps an entry, and forgets the oldest ones if need be.
    ///
    /// - Throws: `JournalError` or Foundation's, where the file cannot be written. The entry is kept in memory all the same.
    func insert(_ entry: Entry) throws {
        try state.withLock { state in
            keep(entry, &state)
            try note(Record(entry), &state)
        }
    }

    private func keep(_ entry: Entry, _ state: inout State) {
        _ = state.remove(entry.response.id)
        state.entries[entry.response.id] = entry
        state.order.append(entry.response.id)
        state.bytes += entry.bytes
        while state.order.count > maximumCount || state.bytes > maximumBytes { _ = state.remove(state.order[0]) }
    }

    /// Once most of the file is about what is forgotten, or its last line is torn, it begins anew.
    private func note(_ record: Record, _ state: inout State) throws {
        guard let journal = state.journal else { return }
        if journal.count > 2 * state.order.count + 100 {
            state.journal = try Journal(journal.path, state.records)
        } else {
            try state.journal?.append(record)
        }
    }

    subscript(id: String) -> Entry? { state.withLock { $0.entries[id] } }

    /// - Returns: Whether it was there.
    func remove(_ id: String) throws -> Bool {
        try state.withLock { state in
            guard state.remove(id) else { return false }
            try note(Record(deleted: id), &state)
            return true
        }
    }
}
