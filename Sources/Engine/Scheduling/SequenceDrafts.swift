import Compute
import KernelFormats

/// Tokens that are likely to follow those of a sequence. The next step computes them too; rejected ones are rolled back.
final class SequenceDrafts {
    /// What the next step computes after the known tokens.
    private(set) var tokens: [Int32] = []
    /// The drafter's part; `nil` without a drafter, and for requests that it does not serve.
    private(set) var progress: DraftProgress?
    /// Drafted tokens that were computed, and those of them that were sampled, for `Usage`.
    private(set) var counts = (drafted: 0, accepted: 0)

    /// The request's own drafts.
    private let draft: (@Sendable ([Int32]) -> [Int32])?
    /// Whether drafts are looked up in the text so far.
    private let looksUp: Bool
    private let expected: [Int32]
    private let promptCount: Int
    private let drafter: Drafter?
    /// Finds drafts; `nil` before the first search.
    private var lookup: PromptLookup?
    /// The current guess. Its first tokens are drafted, as many as pay.
    private var guess: PromptLookup.Guess?
    private var length = DraftLength.ofMatches
    /// The drafter's proposal with the kinds of its tokens. Its first tokens are drafted.
    private var proposal: (tokens: [Int32], kinds: [Int])?
    /// Pages of the sequence's path in the prefix cache that have the drafter's pages too.
    private var sharedPages = 0

    init(_ request: ModelThread.Request, _ drafter: Drafter?) {
        draft = request.draft
        looksUp = request.options.drafts
        expected = request.options.expectedTokens
        promptCount = request.tokens.count
        // A drafter sees neither images nor an encoder's input.
        self.drafter = request.options.drafts && request.media == nil && request.encoding == nil ? drafter : nil
    }

    /// Begins with the pages that the drafter computed for a cached prefix.
    func start(from path: [PrefixCache.Node], in memory: StateMemory) {
        let pages = path.prefix { $0.draftPages != nil }.compactMap(\.draftPages)
        progress = drafter?.makeProgress(beginning: pages, in: memory)
        sharedPages = (progress?.state.count ?? 0) / pageTokens
    }

    /// Discards the drafts and the drafter's state when the sequence is preempted.
    func forget() {
        tokens = []
        progress = nil
    }

    /// Adds the pages of the drafter's state to the prefix cache, without those of drafted tokens.
    func share(with path: [PrefixCache.Node]) {
        guard let progress, !progress.state.shape.needsCheckpoints else { return }
        while sharedPages < path.count, (sharedPages + 1) * pageTokens <= progress.knownTokens {
            let node = path[sharedPages]
            let pages = node.draftPages ?? progress.state.sharedPages(sharedPages)
            node.draftPages = pages
            progress.state.replacePages(sharedPages, by: pages)
            sharedPages += 1
        }
    }

    // MARK: Sampling; may run on a side thread

    /// Compares the sampled tokens with what was proposed for their places, which teaches how often proposals are right.
    ///
    /// - Parameters:
    ///   - sampled: The tokens that were sampled from a step's logits, as long as they equal the drafted ones, and one more.
    ///   - rows: Rows of these logits: one for each drafted token that was computed, and one more.
    func learn(_ sampled: ArraySlice<Int32>, rows: Int) {
        counts.drafted += rows - 1
        counts.accepted += zip(sampled, tokens.prefix(rows - 1)).prefix { $0 == $1 }.count
        if let guess {
            for (row, (token, guessed)) in zip(sampled, guess.tokens).enumerated() {
                length.learn(kind: DraftLength.kind(match: guess.match + row), isRight: token == guessed)
                if token != guessed { break }
            }
        }
        if let proposal {
            for (row, (token, proposed)) in zip(sampled, proposal.tokens).enumerated() {
                progress?.length.learn(kind: proposal.kinds[row], isRight: token == proposed)
                if token != proposed { break }
            }
        }
    }

    /// Drafts tokens for the next step: tokens that the constraint forces, else the request's own drafts, else tokens that
    /// followed the same text before.
    ///
    /// - Parameters:
    ///   - known: The prompt and the sampled tokens.
    ///   - most: Maximum tokens.
    ///   - room: Room in the next step for tokens that may be wrong; `nil`: none.
    ///   - recomputes: Whether rejected tokens make the step's other tokens be computed again.
    func prepare(
        after known: [Int32], forced: [Int32], most: Int, room: DraftRoom?, cost: StepCost, recomputes: Bool
    ) {
        (guess, proposal) = (nil, nil)
        tokens = forced.isEmpty ? draft?(known) ?? [] : forced
        tokens = Array(tokens.prefix(most))
        if tokens.isEmpty, looksUp, let room { lookUp(after: known, most: most, room, cost, recomputes: recomputes) }
        // Negative IDs are rows of images, which are never sampled.
        if let image = tokens.firstIndex(where: { $0 < 0 }) { tokens.removeSubrange(image...) }
    }

    private func lookUp(after known: [Int32], most: Int, _ room: DraftRoom, _ cost: StepCost, recomputes: Bool) {
        if lookup == nil { lookup = PromptLookup(expected: expected, prompt: Array(known.prefix(promptCount))) }
        lookup!.append(known[(promptCount + lookup!.answerCount)...])
        guess = lookup!.guess(DraftLength.most + 1)
        guard let guess else { return }
        let count = length.count(
            kinds: guess.tokens.indices.map { DraftLength.kind(match: guess.match + $0) }, room: room, cost: cost,
            recomputes: recomputes)
        tokens = Array(guess.tokens.prefix(min(count, most)))
    }

    // MARK: The drafter

    /// Drafts the first `count` of the drafter's tokens; all of them teach it how often they are right.
    func propose(_ tokens: [Int32], kinds: [Int], count: Int) {
        proposal = (tokens, kinds)
        self.tokens = Array(tokens.prefix(count))
    }
}
