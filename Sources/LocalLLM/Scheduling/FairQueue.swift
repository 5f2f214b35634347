/// Work of several clients, one piece at a time: clients take turns, and each one's pieces come in order.
struct FairQueue<Element> {
    private var waiting: [String: [Element]] = [:]
    /// Those with work, whose turn it is first.
    private var turns: [String] = []

    var isEmpty: Bool { turns.isEmpty }

    mutating func append(_ element: Element, of client: String) {
        if waiting[client] == nil { turns.append(client) }
        waiting[client, default: []].append(element)
    }

    /// The next piece of whose turn it is; `nil` where there is no work.
    mutating func next() -> Element? {
        guard !turns.isEmpty else { return nil }
        let client = turns.removeFirst()
        let element = waiting[client]?.removeFirst()
        if waiting[client]?.isEmpty == true { waiting[client] = nil } else { turns.append(client) }
        return element
    }
}
