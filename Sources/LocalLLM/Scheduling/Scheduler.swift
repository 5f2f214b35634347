import KernelsPortable

/// Decides what the next step computes. A pure value: no clock, no model, no threads.
///
/// Every running answer gets its next token in every step; those of a client that has many of them beside another client
/// take turns. What is left of the step's rows goes to prompts: half of it to the oldest, so that none waits forever, then
/// to those with the least left to compute, so that a short one does not wait for a long one.
struct Scheduler {
    typealias ID = Int

    /// What one sequence does in a step.
    struct Entry: Equatable {
        let id: ID
        /// Which of the sequence's tokens enter the model.
        let tokens: Range<Int>
        /// How many of the last of them need the logits that follow.
        let outputs: Int
        /// Whether these tokens were generated. Such entries come first.
        var isAnswer = false
    }

    private struct SequenceProgress {
        let id: ID
        let group: Int
        /// Who shares the places with others; sequences without one are each a client.
        let client: String
        let promptLength: Int
        /// Tokens known: the prompt, and those sampled.
        var length: Int
        /// Tokens that the model has computed.
        var computed = 0
        /// Tokens that may follow those known, to be computed with them.
        var drafted = 0
        /// Its last turn: answers of a client take them in the order in which they had the one before.
        var turn = 0
        /// A sequence that computes the same beginning, and how much of it is worth waiting for.
        var leader: (id: ID, tokens: Int)?

        var isAnswering: Bool { computed >= promptLength }
    }

    /// Sequences that run side by side; others wait.
    let concurrency: Int
    /// Most of them of one group.
    static let groupLimit = 16
    /// Answers of one client in a step while others have sequences running: a step takes longer the more rows it has, and
    /// the others wait for it.
    static let clientRows = 8
    /// Bytes that states of sequences may take. One sequence alone always runs.
    var capacity: Int
    /// Bytes of the state of a sequence with so many tokens.
    private let stateBytes: (Int) -> Int
    private var running: [SequenceProgress] = []
    private var waiting: [SequenceProgress] = []
    /// Turns of all answers so far.
    private var turns = 0

    init(concurrency: Int, capacity: Int, stateBytes: @escaping (Int) -> Int) {
        self.concurrency = concurrency
        self.capacity = capacity
        self.stateBytes = stateBytes
    }

    var counts: (running: Int, waiting: Int) { (running.count, waiting.count) }
    /// Whether a sequence waits for the model between two of its tokens.
    var isAnswering: Bool { running.contains { $0.isAnswering } }

    /// - Parameters:
    ///   - group: Sequences that share what one request may have; `nil`: it is alone.
    ///   - client: Whose request it is; `nil`: nobody's in particular.
    ///   - leader: A sequence in here whose prompt begins the same way, and for how many tokens. What the leader computes of
    ///     them need not be computed again.
    mutating func add(
        _ id: ID, group: Int? = nil, client: String? = nil, promptTokens: Int,
        after leader: (id: ID, tokens: Int)? = nil
    ) {
        waiting.append(
            SequenceProgress(
                id: id, group: group ?? -id, client: client ?? "group \(group ?? -id)", promptLength: promptTokens,
                length: promptTokens, leader: leader))
    }

    /// Tokens were sampled for this sequence.
    ///
    /// - Parameters:
    ///   - remembered: Tokens that its state holds: fewer than were computed if some drafted ones were rejected.
    ///   - drafted: Tokens that may come next. The next step computes them too, as far as it has room.
    mutating func extend(_ id: ID, by tokens: Int = 1, remembered: Int? = nil, drafted: Int = 0) {
        guard let index = running.firstIndex(where: { $0.id == id }) else { return }
        running[index].length += tokens
        if let remembered { running[index].computed = remembered }
        running[index].drafted = drafted
    }

    mutating func remove(_ id: ID) {
        running.removeAll { $0.id == id }
        waiting.removeAll { $0.id == id }
    }

    /// Sends sequences back to wait, youngest first, until the others fit the memory, and one of the client that has the
    /// most where another has none running and finds no room. They start anew later.
    ///
    /// - Returns: Who was sent back.
    mutating func preempt() -> [ID] {
        var preempted: [ID] = []
        func sendBack(_ index: Int) {
            var sequence = running.remove(at: index)
            sequence.computed = 0
            sequence.drafted = 0
            preempted.append(sequence.id)
            waiting.insert(sequence, at: 0)
        }
        while running.count > 1, memory > capacity { sendBack(running.count - 1) }
        let counts = Dictionary(grouping: running, by: \.client).mapValues(\.count)
        if let newcomer = waiting.first(where: { counts[$0.client] == nil }), !hasRoom(for: newcomer, beside: memory),
            let most = counts.max(by: { $0.value < $1.value }), most.value > 1,
            let youngest = running.lastIndex(where: { $0.client == most.key })
        {
            sendBack(youngest)
        }
        return preempted
    }

    /// Whether another sequence may run beside those that do and take `reserved` bytes.
    private func hasRoom(for sequence: SequenceProgress, beside reserved: Int) -> Bool {
        // An eighth is left free: sequences grow, and sending one back costs more than letting one wait.
        running.isEmpty
            || (running.count < concurrency && reserved + memory(of: sequence) <= capacity / 8 * 7)
    }

    /// What to compute next; empty when there is nothing to do.
    ///
    /// - Parameters:
    ///   - rows: Most rows of prompts. Each running answer has a row of its own beside them.
    ///   - remembered: Called as a sequence starts: how many of its prompt's tokens need not be computed.
    ///   - pieceEnd: Where a piece of a prompt ends that may take a range of tokens.
    mutating func nextStep(
        rows: Int, remembered: (ID) -> Int = { _ in 0 }, pieceEnd: (ID, Range<Int>) -> Int = { $1.upperBound }
    ) -> [Entry] {
        admit()
        let answers = answersOfNextStep()
        var budget = rows + answers.count { running[$0].length > running[$0].computed }
        var entries: [Entry] = []
        func advance(_ index: Int, by most: Int) {
            let sequence = running[index]
            let start = sequence.computed
            let known = sequence.isAnswering ? sequence.length + sequence.drafted : sequence.promptLength
            var end = min(known, start + min(most, budget))
            guard end > start else { return }
            if !sequence.isAnswering { end = pieceEnd(sequence.id, start..<end) }
            entries.append(
                Entry(
                    id: sequence.id, tokens: start..<end, outputs: max(0, end - max(start, sequence.length - 1)),
                    isAnswer: sequence.isAnswering))
            running[index].computed = end
            budget -= end - sequence.computed
        }
        for (place, index) in answers.enumerated() {
            // What one of them computes beside its next token leaves the others theirs.
            advance(index, by: max(1, budget - (answers.count - 1 - place)))
        }

        let prompts = running.indices.filter { !running[$0].isAnswering && !isFollowing(running[$0]) }
        for index in prompts where running[index].computed == 0 {
            running[index].computed = remembered(running[index].id)
        }
        guard let oldest = prompts.first else { return entries }
        func left(_ index: Int) -> Int { running[index].promptLength - running[index].computed }
        let shortestFirst = prompts.dropFirst().sorted { (left($0), $0) < (left($1), $1) }
        let others = shortestFirst.reduce(0) { $0 + left($1) }
        advance(oldest, by: max(budget - others, (budget + 1) / 2))
        for index in shortestFirst { advance(index, by: budget) }
        return entries
    }

    /// Running sequences of which the next step computes an answer's rows.
    private mutating func answersOfNextStep() -> [Int] {
        let answers = running.indices.filter { running[$0].isAnswering }
        guard running.contains(where: { $0.client != running[0].client }) else { return answers }
        let chosen = Dictionary(grouping: answers) { running[$0].client }.values.flatMap { own in
            own.sorted { (running[$0].turn, $0) < (running[$1].turn, $1) }.prefix(Self.clientRows)
        }
        // In this order, so that nobody overtakes another for good.
        for index in chosen {
            turns += 1
            running[index].turn = turns
        }
        return chosen.sorted()
    }

    /// Whether another sequence is about to compute what this one could take over.
    private func isFollowing(_ sequence: SequenceProgress) -> Bool {
        guard sequence.computed == 0, let leader = sequence.leader else { return false }
        let leading = running.first { $0.id == leader.id }
        return leading.map { $0.computed < leader.tokens } ?? false
    }

    /// Bytes that the running sequences take after their next tokens.
    private var memory: Int { running.reduce(0) { $0 + memory(of: $1) } }
    private func memory(of sequence: SequenceProgress) -> Int { stateBytes(sequence.length + 1) }

    private mutating func admit() {
        guard !waiting.isEmpty else { return }
        var reserved = memory
        var groups = Dictionary(grouping: running, by: \.group).mapValues(\.count)
        var clients = Dictionary(grouping: running, by: \.client).mapValues(\.count)
        func isLimited(_ sequence: SequenceProgress) -> Bool { groups[sequence.group, default: 0] >= Self.groupLimit }
        func share(_ index: Int) -> (Int, Int) {
            (clients[waiting[index].client, default: 0], groups[waiting[index].group, default: 0])
        }
        // Of the client and the group with the fewest, the one that came first.
        while let index = waiting.indices.filter({ !isLimited(waiting[$0]) }).min(by: { share($0) < share($1) }) {
            let next = waiting[index]
            guard hasRoom(for: next, beside: reserved) else { return }
            reserved += memory(of: next)
            groups[next.group, default: 0] += 1
            clients[next.client, default: 0] += 1
            running.append(waiting.remove(at: index))
        }
    }
}
