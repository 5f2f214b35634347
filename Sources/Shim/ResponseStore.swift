import JSON
import LocalLLM
import Synchronization
import Wire

/// The latest responses, which clients continue by id. With a file they survive a restart.
final class ResponseStore: Sendable {
    struct Entry: Sendable {
        let response: ModelResponse
        /// The conversation up to and including the answer, without instructions.
        let conversation: [ChatMessage]
        /// The client that asked for it.
        fileprivate let client: String
        fileprivate let bytes: Int

        init(_ response: ModelResponse, conversation: [ChatMessage], client: String = "") {
            self.response = response
            self.conversation = conversation
            self.client = client
            // An estimate that counts every text whose length a client controls.
            let answer = response.output.flatMap { $0.content ?? [] }.reduce(0) { $0 + $1.text.utf8.count }
            let logprobs = response.output.flatMap { $0.content ?? [] }.reduce(0) { $0 + ($1.logprobs?.count ?? 0) }
            let metadata = response.metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
            let messages = conversation.reduce(0) { $0 + $1.bytes }
            // The answer's calls are in the last message.
            let calls = conversation.flatMap { $0.toolCalls ?? [] }.reduce(0) { $0 + $1.bytes }
            let asked = (response.instructions?.utf8.count ?? 0) + response.tools.footprint
            bytes = answer + logprobs * 2048 + metadata + asked + messages + calls + 1024
        }
    }

    private struct Share {
        var count = 0
        var bytes = 0
    }

    private struct State {
        var entries: [String: Entry] = [:]
        /// Oldest first.
        var order: [String] = []
        var bytes = 0
        var shares: [String: Share] = [:]
        var journal: Journal<Record>?

        mutating func remove(_ id: String) -> Bool {
            guard let entry = entries.removeValue(forKey: id) else { return false }
            order.removeAll { $0 == id }
            bytes -= entry.bytes
            shares[entry.client]?.count -= 1
            shares[entry.client]?.bytes -= entry.bytes
            if shares[entry.client]?.count == 0 { shares[entry.client] = nil }
            return true
        }

        mutating func add(_ entry: Entry) {
            _ = remove(entry.response.id)
            entries[entry.response.id] = entry
            order.append(entry.response.id)
            bytes += entry.bytes
            shares[entry.client, default: Share()].count += 1
            shares[entry.client, default: Share()].bytes += entry.bytes
        }

        /// Drops the oldest entry of the client with the most, so that no client pushes out the entries of others.
        mutating func removeOldest(by size: KeyPath<Share, Int>) {
            let client = shares.max { ($0.value[keyPath: size], $0.key) < ($1.value[keyPath: size], $1.key) }?.key
            if let id = order.first(where: { entries[$0]?.client == client }) { _ = remove(id) }
        }

        var records: [Record] { order.compactMap { entries[$0].map(Record.init) } }
    }

    /// A line of the file: a response with its conversation, or a deleted id.
    private struct Record: Codable, Sendable {
        var response: ModelResponse?
        var conversation: [ChatMessage]?
        var client: String?
        var deleted: String?

        init(_ entry: Entry) {
            (response, conversation, client) = (entry.response, entry.conversation, entry.client)
        }

        init(deleted: String) { self.deleted = deleted }

        var entry: Entry? {
            guard let response, let conversation else { return nil }
            return Entry(response, conversation: conversation, client: client ?? "")
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

    /// - Parameter file: File that keeps the responses across restarts; `nil`: none.
    /// - Throws: `JournalError` if the file is damaged or cannot be written.
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

    /// Adds an entry, dropping the oldest ones of the client with the most if necessary.
    ///
    /// - Throws: `JournalError` or a Foundation error if the file cannot be written. The entry is in memory even then.
    func insert(_ entry: Entry) throws {
        try state.withLock { state in
            keep(entry, &state)
            try note(Record(entry), &state)
        }
    }

    private func keep(_ entry: Entry, _ state: inout State) {
        state.add(entry)
        while state.order.count > maximumCount { state.removeOldest(by: \.count) }
        while state.bytes > maximumBytes { state.removeOldest(by: \.bytes) }
    }

    /// Appends a record. Rewrites the file once most of its lines are stale or its last line may be torn.
    private func note(_ record: Record, _ state: inout State) throws {
        guard let journal = state.journal else { return }
        if journal.count > 2 * state.order.count + 100 {
            state.journal = try Journal(journal.path, state.records)
        } else {
            try state.journal?.append(record)
        }
    }

    /// Bytes of all entries.
    var bytes: Int { state.withLock { $0.bytes } }

    subscript(id: String) -> Entry? { state.withLock { $0.entries[id] } }

    /// - Returns: Whether the id was stored.
    func remove(_ id: String) throws -> Bool {
        try state.withLock { state in
            guard state.remove(id) else { return false }
            try note(Record(deleted: id), &state)
            return true
        }
    }
}

extension ChatMessage {
    /// Roughly what the message takes in memory, without its calls.
    fileprivate var bytes: Int {
        let texts = [role.rawValue, content, name, reasoning, toolCallID].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
        return texts + (images ?? []).reduce(0) { $0 + $1.count } + 256
    }
}

extension ChatMessage.ToolCall {
    /// The same of a call, whose arguments are in the response too.
    fileprivate var bytes: Int { id.utf8.count + name.utf8.count + 2 * arguments.utf8.count + 128 }
}
