/// Decides what the next step computes. A pure value: no clock, no model, no threads.
///
/// Every running answer gets its next token in every step; what is left of the step's row budget goes to prompts, in the
/// order they came. A long prompt thus delays the others' tokens by at most one step of `rowBudget` rows.
struct Scheduler {
    typealias ID = Int

    /// What one sequence does in a step.
    struct Entry: Equatable {
        let id: ID
        /// Which of the sequence's tokens enter the model.
        let tokens: Range<Int>
        /// Whether the logits after the last of them are needed: always, but in the middle of a prompt.
        let wantsLogits: Bool
        /// Whether these tokens were generated. Such entries come first.
        var isAnswer = false
    }

    private struct Sequence {
        let id: ID
        let promptLength: Int
        /// Tokens known: the prompt, and those sampled.
        var length: Int
        /// The longest that it may become.
        let limit: Int
        /// Tokens that the model has computed.
        var computed = 0
        var isAnswering: Bool { computed >= promptLength }
    }

    /// Most rows of a step.
    let rowBudget: Int
    /// Sequences that run side by side; others wait.
    let concurrency: Int
    /// Tokens that the memory for keys and values has room for. Sequences run only while their limits fit together; one
    /// alone always does.
    let capacity: Int
    private var running: [Sequence] = []
    private var waiting: [Sequence] = []

    init(rowBudget: Int, concurrency: Int, capacity: Int) {
        self.rowBudget = rowBudget
        self.concurrency = concurrency
        self.capacity = capacity
    }

    /// - Parameter limit: Tokens of the prompt and the longest possible answer together.
    mutating func add(_ id: ID, promptTokens: Int, limit: Int) {
        waiting.append(Sequence(id: id, promptLength: promptTokens, length: promptTokens, limit: limit))
    }

    /// A token was sampled for this sequence.
    mutating func extend(_ id: ID) {
        if let index = running.firstIndex(where: { $0.id == id }) { running[index].length += 1 }
    }

    mutating func remove(_ id: ID) {
        running.removeAll { $0.id == id }
        waiting.removeAll { $0.id == id }
    }

    /// Empty when there is nothing to do.
    mutating func nextStep() -> [Entry] {
        admit()
        var budget = rowBudget
        var entries: [Entry] = []
        // Answers first: one row each. Then prompts, oldest first.
        let ready = running.indices.filter { running[$0].length > running[$0].computed }
        let answers = ready.filter { running[$0].isAnswering }
        let prompts = ready.filter { !running[$0].isAnswering }
        for index in answers + prompts where budget > 0 {
            let sequence = running[index]
            let end = min(sequence.length, sequence.computed + budget)
            entries.append(
                Entry(
                    id: sequence.id, tokens: sequence.computed..<end, wantsLogits: end == sequence.length,
                    isAnswer: sequence.isAnswering))
            running[index].computed = end
            budget -= end - sequence.computed
        }
        return entries
    }

    private mutating func admit() {
        var reserved = running.reduce(0) { $0 + $1.limit }
        while running.count < concurrency, let next = waiting.first {
            guard running.isEmpty || reserved + next.limit <= capacity else { return }
            reserved += next.limit
            running.append(waiting.removeFirst())
        }
    }
}
