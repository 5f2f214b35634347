/// Decides what the next step computes. A pure value: no clock, no model, no threads.
///
/// Every running answer decodes one token in a step; if several clients compete, a client with many answers decodes
/// them in turns. The remaining rows of the step go to prefill: half of them to the oldest prompt, so that none starves,
/// then to each client's prompt with the fewest tokens left, so that short ones do not wait for long ones, then to the
/// clients' next prompts.
///
/// Prompts that can be finished beside answers get a step without them, so that their first tokens do not wait for the
/// rows of the answers. At most every second step is one of these.
struct Scheduler {
    typealias ID = Int

    /// The part of a sequence in a step.
    struct Entry: Equatable {
        let id: ID
        /// Tokens of the sequence to compute.
        let tokens: Range<Int>
        /// How many of the last of them need logits.
        let outputs: Int
        /// Whether these tokens were generated (decode). Such entries come first.
        var isAnswer = false
    }

    private struct Member {
        let id: ID
        let group: Int
        /// Client for fair sharing; each sequence without one is a client of its own.
        let client: String
        var lengths: SequenceLengths
        /// Number of its last turn: a client's answers take turns in this order.
        var turn = 0
        /// A sequence that computes the same prefix, and the tokens of it to wait for.
        var leader: (id: ID, tokens: Int)?

        var isAnswering: Bool { lengths.isAnswering }
        /// Tokens that can be computed now. None while the next token is being sampled.
        var left: Int { (isAnswering ? lengths.known : lengths.prompt) - lengths.computed }
    }

    /// Maximum running sequences; further ones wait.
    let concurrency: Int
    /// Maximum running sequences of one group.
    static let groupLimit = 16
    /// Maximum answers of one client in a step while other clients have running sequences: rows lengthen the step,
    /// which delays the others.
    static let clientRows = 8
    /// Maximum drafted rows of all answers in a step while several sequences are running. A constraint may force hundreds of
    /// tokens at once, whose rows would delay the others.
    static let draftedRows = 32
    /// Maximum bytes of sequence states. A single sequence always runs.
    var capacity: Int
    /// Bytes of the state of a sequence of so many tokens.
    private let stateBytes: (Int) -> Int
    private var running: [Member] = []
    private var waiting: [Member] = []
    /// Turns taken so far.
    private var turns = 0
    /// Whether the last step finished prompts while answers waited.
    private var keptAnswersWaiting = false

    init(concurrency: Int, capacity: Int, stateBytes: @escaping (Int) -> Int) {
        self.concurrency = concurrency
        self.capacity = capacity
        self.stateBytes = stateBytes
    }

    var counts: (running: Int, waiting: Int) { (running.count, waiting.count) }
    /// Share of the capacity that the running sequences need, 0...1.
    var use: Double { min(1, Double(memory) / Double(max(1, capacity))) }
    /// The client of a running sequence.
    func client(of id: ID) -> String? { running.first { $0.id == id }?.client }
    /// Whether a sequence is decoding.
    var isAnswering: Bool { running.contains { $0.isAnswering } }

    /// Whether several clients have running sequences.
    var isShared: Bool { running.contains { $0.client != running[0].client } }

    /// - Parameters:
    ///   - group: Group with a limit of its own; `nil`: the sequence is a group of its own.
    ///   - client: Client for fair sharing; `nil`: the sequence is a client of its own.
    ///   - leader: A scheduled sequence whose prompt has the same prefix, and the length of that prefix. The new
    ///     sequence waits until the leader has computed it, and then takes it from the prefix cache.
    mutating func add(
        _ id: ID, group: Int? = nil, client: String? = nil, promptTokens: Int,
        after leader: (id: ID, tokens: Int)? = nil
    ) {
        waiting.append(
            Member(
                id: id, group: group ?? -id, client: client ?? "group \(group ?? -id)",
                lengths: SequenceLengths(prompt: promptTokens, known: promptTokens), leader: leader))
    }

    /// The lengths of a running sequence: the last ones recorded, plus the tokens of the steps since.
    func lengths(of id: ID) -> SequenceLengths? { running.first { $0.id == id }?.lengths }

    /// Records the lengths of a running sequence after it has sampled. Drafted tokens are computed as far as a step has room.
    mutating func update(_ id: ID, to lengths: SequenceLengths) {
        guard let index = running.firstIndex(where: { $0.id == id }) else { return }
        running[index].lengths = lengths
    }

    mutating func remove(_ id: ID) {
        running.removeAll { $0.id == id }
        waiting.removeAll { $0.id == id }
    }

    /// Preempts sequences, youngest first, until the others fit the memory; and one of the client with the most running
    /// sequences if a client without any finds no room. Preempted sequences start over later.
    ///
    /// - Parameter isSpared: Sequences that keep their state.
    /// - Returns: The preempted sequences.
    mutating func preempt(sparing isSpared: (ID) -> Bool = { _ in false }) -> [ID] {
        var preempted: [ID] = []
        func sendBack(_ index: Int) {
            var sequence = running.remove(at: index)
            (sequence.lengths.computed, sequence.lengths.drafted) = (0, 0)
            preempted.append(sequence.id)
            waiting.insert(sequence, at: 0)
        }
        while running.count > 1, memory > capacity, let youngest = running.lastIndex(where: { !isSpared($0.id) }) {
            sendBack(youngest)
        }
        let counts = Dictionary(grouping: running, by: \.client).mapValues(\.count)
        if let newcomer = waiting.first(where: { counts[$0.client] == nil }), !hasRoom(for: newcomer, beside: memory),
            let most = counts.max(by: { $0.value < $1.value }), most.value > 1,
            let youngest = running.lastIndex(where: { $0.client == most.key && !isSpared($0.id) })
        {
            sendBack(youngest)
        }
        return preempted
    }

    /// Whether the sequence fits beside the running ones, which take `reserved` bytes.
    private func hasRoom(for sequence: Member, beside reserved: Int) -> Bool {
        // An eighth is kept free: sequences grow, and preempting one costs more than letting one wait.
        running.isEmpty
            || (running.count < concurrency && reserved + memory(of: sequence) <= capacity / 8 * 7)
    }

    /// The entries of the next step; empty if there is nothing to compute.
    ///
    /// - Parameters:
    ///   - rows: Maximum prompt rows. Each running answer has one row in addition.
    ///   - resting: Clients that get no rows in this step.
    ///   - remembered: Called when a sequence starts; returns the tokens of its prompt found in the prefix cache.
    ///   - pieceEnd: Where a prefill chunk of the given range has to end.
    mutating func nextStep(
        rows: Int, resting: Set<String> = [], remembered: (ID) -> Int = { _ in 0 },
        pieceEnd: (ID, Range<Int>) -> Int = { $1.upperBound }
    ) -> [Entry] {
        admit()
        let prompts = running.indices.filter {
            !running[$0].isAnswering && !resting.contains(running[$0].client) && !isFollowing(running[$0])
        }
        for index in prompts where running[index].lengths.computed == 0 {
            running[index].lengths.computed = remembered(running[index].id)
        }
        let shortestFirst = prompts.sorted { (running[$0].left, $0) < (running[$1].left, $1) }

        var budget = rows
        var entries: [Entry] = []
        func advance(_ index: Int, by most: Int) {
            let sequence = running[index]
            let start = sequence.lengths.computed
            let drafted = sequence.isAnswering ? sequence.lengths.drafted : 0
            var end = start + min(sequence.left + drafted, most, budget)
            guard end > start else { return }
            if !sequence.isAnswering { end = pieceEnd(sequence.id, start..<end) }
            entries.append(
                Entry(
                    id: sequence.id, tokens: start..<end, outputs: max(0, end - max(start, sequence.lengths.known - 1)),
                    isAnswer: sequence.isAnswering))
            running[index].lengths.computed = end
            budget -= end - start
        }

        let isAnswerWaiting = running.contains { $0.isAnswering && $0.left > 0 && !resting.contains($0.client) }
        let canFinishPrompt = shortestFirst.contains { running[$0].left <= rows }
        keptAnswersWaiting = isAnswerWaiting && canFinishPrompt && !keptAnswersWaiting
        if keptAnswersWaiting {
            for index in takingTurns(shortestFirst) where running[index].left <= budget { advance(index, by: budget) }
            return entries
        }
        let answers = answersOfNextStep(resting: resting)
        budget += answers.count
        let drafting = answers.count { running[$0].lengths.drafted > 0 }
        let most = running.count > 1 ? 1 + Self.draftedRows / max(1, drafting) : .max
        for (place, index) in answers.enumerated() {
            // Drafted rows of one answer leave every other answer its row.
            advance(index, by: min(most, max(1, budget - (answers.count - 1 - place))))
        }
        guard let oldest = prompts.first else { return entries }
        let others = prompts.dropFirst().reduce(0) { $0 + running[$1].left }
        advance(oldest, by: max(budget - others, (budget + 1) / 2))
        for index in takingTurns(shortestFirst.filter { $0 != oldest }, after: oldest) { advance(index, by: budget) }
        return entries
    }

    /// Indices of the running sequences that decode in the next step.
    private mutating func answersOfNextStep(resting: Set<String>) -> [Int] {
        // Others are still being sampled.
        let answers = running.indices.filter {
            running[$0].isAnswering && running[$0].left > 0 && !resting.contains(running[$0].client)
        }
        guard isShared else { return answers }
        let chosen = Dictionary(grouping: answers) { running[$0].client }.values.flatMap { own in
            own.sorted { (running[$0].turn, $0) < (running[$1].turn, $1) }.prefix(Self.clientRows)
        }
        // Turns are given in this order, so that none is passed over forever.
        for index in chosen {
            turns += 1
            running[index].turn = turns
        }
        return chosen.sorted()
    }

    /// Sorts sequences so that the first of each client precede the second of any; `first` comes before all of them.
    private func takingTurns(_ indices: [Int], after first: Int? = nil) -> [Int] {
        var counts = first.map { [running[$0].client: 1] } ?? [:]
        let ranked = indices.map { index in
            defer { counts[running[index].client, default: 0] += 1 }
            return (rank: counts[running[index].client, default: 0], index: index)
        }
        return ranked.sorted { $0.rank < $1.rank }.map(\.index)
    }

    /// Whether the sequence waits for its leader to compute their common prefix.
    private func isFollowing(_ sequence: Member) -> Bool {
        guard sequence.lengths.computed == 0, let leader = sequence.leader else { return false }
        let leading = running.first { $0.id == leader.id }
        return leading.map { $0.lengths.computed < leader.tokens } ?? false
    }

    /// Bytes of the running sequences after their next tokens.
    private var memory: Int { running.reduce(0) { $0 + memory(of: $1) } }
    private func memory(of sequence: Member) -> Int { stateBytes(sequence.lengths.known + 1) }

    private mutating func admit() {
        guard !waiting.isEmpty else { return }
        var reserved = memory
        var groups = Dictionary(grouping: running, by: \.group).mapValues(\.count)
        var clients = Dictionary(grouping: running, by: \.client).mapValues(\.count)
        func isLimited(_ sequence: Member) -> Bool { groups[sequence.group, default: 0] >= Self.groupLimit }
        func share(_ index: Int) -> (Int, Int) {
            (clients[waiting[index].client, default: 0], groups[waiting[index].group, default: 0])
        }
        // First the client, then the group with the fewest running; of equal ones the first to arrive.
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
