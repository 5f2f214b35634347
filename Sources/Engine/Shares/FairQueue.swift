/// A queue of work by client: clients take turns, and each client's pieces run in order.
struct FairQueue<Element> {
    private var waiting: [String: [Element]] = [:]
    /// Clients with work, next turn first.
    private var turns: [String] = []

    var isEmpty: Bool { turns.isEmpty }

    /// Whether `next` would return a piece.
    func hasNext(where mayHaveTurn: (_ client: String) -> Bool) -> Bool { turns.contains(where: mayHaveTurn) }

    mutating func append(_ element: Element, of client: String) {
        if waiting[client] == nil { turns.append(client) }
        waiting[client, default: []].append(element)
    }

    /// The next piece of the first client, in the order of turns, that may have one; `nil` if there is none.
    mutating func next(where mayHaveTurn: (_ client: String) -> Bool = { _ in true }) -> (
        client: String, element: Element
    )? {
        guard let turn = turns.firstIndex(where: mayHaveTurn) else { return nil }
        let client = turns.remove(at: turn)
        guard let element = waiting[client]?.removeFirst() else { return nil }
        if waiting[client]?.isEmpty == true { waiting[client] = nil } else { turns.append(client) }
        return (client, element)
    }
}
