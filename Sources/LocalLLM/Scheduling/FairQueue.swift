/// A queue of work by client: clients take turns, and each client's pieces run in order.
struct FairQueue<Element> {
    private var waiting: [String: [Element]] = [:]
    /// Clients with work, next turn first.
    private var turns: [String] = []

    var isEmpty: Bool { turns.isEmpty }

    mutating func append(_ element: Element, of client: String) {
        if waiting[client] == nil { turns.append(client) }
        waiting[client, default: []].append(element)
    }

    /// The next piece of the client whose turn it is; `nil` if there is no work.
    mutating func next() -> Element? {
        guard !turns.isEmpty else { return nil }
        let client = turns.removeFirst()
        let element = waiting[client]?.removeFirst()
        if waiting[client]?.isEmpty == true { waiting[client] = nil } else { turns.append(client) }
        return element
    }
}
