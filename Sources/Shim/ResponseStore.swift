import LocalLLM
import Synchronization
import Wire

/// The last responses, so that clients can go on with them by their id. In memory: a restart forgets them.
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

        mutating func remove(_ id: String) -> Bool {
            guard let entry = entries.removeValue(forKey: id) else { return false }
            order.removeAll { $0 == id }
            bytes -= entry.bytes
            return true
        }
    }

    private let maximumCount: Int
    private let maximumBytes: Int
    private let state = Mutex(State())

    init(maximumCount: Int = 1000, maximumBytes: Int = 64 << 20) {
        self.maximumCount = maximumCount
        self.maximumBytes = maximumBytes
    }

    /// Keeps an entry, and forgets the oldest ones if need be.
    func insert(_ entry: Entry) {
        state.withLock { state in
            state.entries[entry.response.id] = entry
            state.order.append(entry.response.id)
            state.bytes += entry.bytes
            while state.order.count > maximumCount || state.bytes > maximumBytes { _ = state.remove(state.order[0]) }
        }
    }

    subscript(id: String) -> Entry? { state.withLock { $0.entries[id] } }

    /// - Returns: Whether it was there.
    func remove(_ id: String) -> Bool { state.withLock { $0.remove(id) } }
}
