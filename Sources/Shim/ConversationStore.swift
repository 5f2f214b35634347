import JSON
import Synchronization
import Wire

/// The conversations that clients created, with their items. With a file they survive a restart.
final class ConversationStore: Sendable {
    struct Entry: SharedEntry {
        var conversation: StoredConversation
        fileprivate(set) var items: [ConversationItem] = []
        let client: String
        fileprivate var itemBytes = 0

        var id: String { conversation.id }
        var bytes: Int {
            itemBytes + 1024 + conversation.metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        }

        fileprivate init(_ conversation: StoredConversation, client: String) {
            (self.conversation, self.client) = (conversation, client)
        }

        fileprivate mutating func append(_ new: [ConversationItem]) {
            items += new
            itemBytes += new.reduce(0) { $0 + $1.bytes }
        }

        fileprivate mutating func remove(_ id: String) {
            itemBytes -= items.filter { $0.id == id }.reduce(0) { $0 + $1.bytes }
            items.removeAll { $0.id == id }
        }
    }

    /// A line of the file: what changed in a conversation.
    private struct Record: Codable, Sendable {
        var id: String
        /// A new conversation, or other metadata of one.
        var conversation: StoredConversation?
        var client: String?
        /// Added at its end.
        var items: [ConversationItem]?
        var removedItem: String?
        var deleted: Bool?

        init(_ id: String) { self.id = id }

        init(_ entry: Entry) {
            id = entry.id
            (conversation, client, items) = (entry.conversation, entry.client, entry.items)
        }
    }

    private struct State {
        var entries: SharedEntries<Entry>
        var journal: Journal<Record>?

        mutating func apply(_ record: Record) {
            if record.deleted == true {
                entries.remove(record.id)
                return
            }
            let new = record.conversation.map { Entry($0, client: record.client ?? "") }
            guard var entry = entries[record.id] ?? new else { return }
            if let conversation = record.conversation { entry.conversation = conversation }
            if let id = record.removedItem { entry.remove(id) }
            if let items = record.items { entry.append(items) }
            entries.add(entry)
        }
    }

    /// Maximum items of a conversation, and maximum bytes of them.
    private static let limits = (items: 4096, bytes: 16 << 20)
    private let state: Mutex<State>

    /// Conversations in memory only.
    init(maximumCount: Int = 1000, maximumBytes: Int = 64 << 20) {
        state = Mutex(State(entries: .init(maximumCount: maximumCount, maximumBytes: maximumBytes)))
    }

    /// - Parameter file: File that keeps the conversations across restarts; `nil`: none.
    /// - Throws: `JournalError` if the file is damaged or cannot be written.
    convenience init(file: String?) throws {
        self.init()
        guard let file else { return }
        try state.withLock { state in
            for record in try Journal<Record>.read(file) { state.apply(record) }
            state.journal = try Journal(file, state.entries.all.map(Record.init))
        }
    }

    subscript(id: String) -> Entry? { state.withLock { $0.entries[id] } }

    /// - Throws: `APIError` if the items exceed a limit; `JournalError` if the file cannot be written. The change has taken
    ///   effect even then.
    func create(_ conversation: StoredConversation, _ items: [ConversationItem], client: String) throws {
        try Self.check(items, after: nil)
        var record = Record(conversation.id)
        (record.conversation, record.client, record.items) = (conversation, client, items)
        try change(record)
    }

    /// Adds items at the end.
    ///
    /// - Throws: As `create`.
    func append(_ items: [ConversationItem], to id: String) throws {
        var record = Record(id)
        record.items = items
        try Self.check(items, after: self[id])
        try change(record)
    }

    func update(_ conversation: StoredConversation) throws {
        var record = Record(conversation.id)
        record.conversation = conversation
        try change(record)
    }

    func removeItem(_ item: String, of id: String) throws {
        var record = Record(id)
        record.removedItem = item
        try change(record)
    }

    func remove(_ id: String) throws {
        var record = Record(id)
        record.deleted = true
        try change(record)
    }

    private static func check(_ items: [ConversationItem], after entry: Entry?) throws(APIError) {
        let count = (entry?.items.count ?? 0) + items.count
        guard count <= limits.items else {
            throw .invalid("items", "a conversation has at most \(limits.items), got \(count)")
        }
        let bytes = items.reduce(entry?.itemBytes ?? 0) { $0 + $1.bytes }
        guard bytes <= limits.bytes else {
            throw .invalid(
                "items", "those of a conversation take at most \(limits.bytes) bytes of memory, got \(bytes)")
        }
    }

    private func change(_ record: Record) throws {
        try state.withLock { state in
            state.apply(record)
            let entries = state.entries
            try state.journal?.note(record, inEffect: entries.count, entries.all.map(Record.init))
        }
    }
}
