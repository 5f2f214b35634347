import JSON
import LocalLLM
import Synchronization
import Wire

/// The latest responses, which clients continue by id. With a file they survive a restart.
final class ResponseStore: Sendable {
    struct Entry: SharedEntry {
        let response: ModelResponse
        /// The conversation up to and including the answer, without instructions.
        let conversation: [ChatMessage]
        let client: String
        let bytes: Int

        var id: String { response.id }

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

    private struct State {
        var entries: SharedEntries<Entry>
        var journal: Journal<Record>?
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

    private let state: Mutex<State>

    /// Responses in memory only.
    init(maximumCount: Int = 1000, maximumBytes: Int = 64 << 20) {
        state = Mutex(State(entries: .init(maximumCount: maximumCount, maximumBytes: maximumBytes)))
    }

    /// - Parameter file: File that keeps the responses across restarts; `nil`: none.
    /// - Throws: `JournalError` if the file is damaged or cannot be written.
    convenience init(file: String?, maximumCount: Int = 1000, maximumBytes: Int = 64 << 20) throws {
        self.init(maximumCount: maximumCount, maximumBytes: maximumBytes)
        guard let file else { return }
        try state.withLock { state in
            for record in try Journal<Record>.read(file) {
                if let entry = record.entry { state.entries.add(entry.ended) }
                if let id = record.deleted { state.entries.remove(id) }
            }
            state.journal = try Journal(file, state.entries.all.map(Record.init))
        }
    }

    /// Adds an entry, dropping the oldest ones of the client with the most if necessary.
    ///
    /// - Throws: `JournalError` or a Foundation error if the file cannot be written. The entry is in memory even then.
    func insert(_ entry: Entry) throws {
        try state.withLock { state in
            state.entries.add(entry)
            try note(Record(entry), &state)
        }
    }

    private func note(_ record: Record, _ state: inout State) throws {
        let entries = state.entries
        try state.journal?.note(record, inEffect: entries.count, entries.all.map(Record.init))
    }

    /// Bytes of all entries.
    var bytes: Int { state.withLock { $0.entries.bytes } }

    subscript(id: String) -> Entry? { state.withLock { $0.entries[id] } }

    /// - Returns: Whether the id was stored.
    func remove(_ id: String) throws -> Bool {
        try state.withLock { state in
            guard state.entries.remove(id) else { return false }
            try note(Record(deleted: id), &state)
            return true
        }
    }
}

extension ResponseStore.Entry {
    /// The same after the process that computed the response has ended: no other process goes on with it.
    fileprivate var ended: Self {
        guard !response.status.isEnd else { return self }
        var response = response
        response.fail(
            APIError(status: 500, kind: .server, message: "The server was stopped before the response was complete."))
        return Self(response, conversation: conversation, client: client)
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
