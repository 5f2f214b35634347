import Compute
import KernelFormats
import Networks

/// Numbers of tokens of a sequence.
struct SequenceLengths: Equatable {
    let prompt: Int
    /// The prompt and the sampled tokens.
    var known: Int
    /// Tokens in the sequence's state.
    var computed = 0
    /// Drafted tokens, to be computed after the known ones.
    var drafted = 0

    /// Whether the whole prompt has been computed.
    var isAnswering: Bool { computed >= prompt }
}

/// What the model has computed of a sequence: its state, and the part of it that the prefix cache has.
///
/// Only the engine's thread uses it.
final class SequenceProgress {
    private(set) var state: SequenceState {
        didSet { (state.encoding, state.media) = (encoding, media) }
    }
    /// Input of the encoder in an encoder-decoder. Pages depend on it, so they are not shared.
    let encoding: SequenceEncoding?
    let adapters: AdapterSelection
    /// Tokens of the prompt found in the prefix cache when the sequence first began.
    private(set) var cachedTokens: Int?
    /// Nodes of the prefix cache whose pages `state` began with or shares.
    private(set) var path: [PrefixCache.Node] = []

    private let media: SequenceMedia?
    private let finalState: FinalState?
    private let memory: StateMemory
    private let promptCount: Int
    /// Whether the text must not depend on the contents of the prefix cache.
    private let isRepeatable: Bool
    private let cacheSalt: String?
    /// Prompt lengths, in whole pages, at which to store checkpoints for later sequences.
    private var checkpointLengths: Set<Int> = []
    /// The node of the answer with a checkpoint, which moves on to later pages of the answer.
    private weak var answerCheckpoint: PrefixCache.Node?

    /// Distances of checkpoints from the end of a prompt, in pages. A conversation's next turn repeats the prompt
    /// except for the last few tokens, where the template asks for the answer; a prompt that diverges earlier
    /// recomputes at most eight times the tokens after the divergence.
    private static let checkpointDistances = [0, 2, 16, 128]

    /// Maximum checkpoints at the ends of a prompt's images; a tile is an image of its own here.
    private static let mediaCheckpoints = 4

    init(_ request: ModelThread.Request, _ network: any Network, _ memory: StateMemory) {
        encoding = request.encoding.map { SequenceEncoding($0) }
        media = request.media
        finalState = request.finalState
        adapters = request.adapters
        self.memory = memory
        promptCount = request.tokens.count
        isRepeatable = request.options.seed != nil || request.chain.temperature == 0
        cacheSalt = request.options.cacheSalt
        state = network.makeState(in: memory, encoding: encoding, media: media)
    }

    /// Whether two prompts with the same tokens have the same pages.
    func canShare(with other: SequenceProgress) -> Bool { adapters == other.adapters && cacheSalt == other.cacheSalt }

    /// Begins with the longest cached prefix of the prompt. It never includes the last token, whose logits are needed.
    func start(_ prompt: ArraySlice<Int32>, from prefixes: inout PrefixCache) {
        if encoding == nil {
            path = prefixes.longestPrefix(
                of: prompt.dropLast(), after: prefixes.root(adapters, salt: cacheSalt), promptOnly: isRepeatable)
        }
        if state.shape.needsCheckpoints {
            let end = (promptCount - 1) / pageTokens
            checkpointLengths.formUnion(Self.checkpointDistances.map { (end - $0) * pageTokens })
            checkpointLengths.insert(promptCount)
            // The next prompt that gets here is likely to diverge here too.
            checkpointLengths.insert(path.count * pageTokens)
            // So is one that asks something else about the same images.
            for image in media?.placed.suffix(Self.mediaCheckpoints) ?? [] {
                checkpointLengths.insert(image.tokens.upperBound / pageTokens * pageTokens)
            }
            path.removeLast(path.count - ((path.lastIndex { $0.checkpoint != nil } ?? -1) + 1))
        }
        state = SequenceState(
            state.shape, in: memory, beginning: path.map(\.pages), checkpoint: path.last?.checkpoint)
        if cachedTokens == nil { cachedTokens = state.count }
    }

    /// Nodes of the prefix cache from which the sequence could begin now.
    func knownPath(_ prompt: ArraySlice<Int32>, in prefixes: inout PrefixCache) -> [PrefixCache.Node] {
        let path = prefixes.longestPrefix(
            of: prompt.dropLast(), after: prefixes.root(adapters, salt: cacheSalt), promptOnly: true)
        guard state.shape.needsCheckpoints else { return path }
        return Array(path.prefix((path.lastIndex { $0.checkpoint != nil } ?? -1) + 1))
    }

    /// Adds pages that were found on disk to the prefix cache.
    func restore(_ found: PrefixDisk.Found, of prompt: [Int32], into prefixes: inout PrefixCache) {
        let root = prefixes.root(adapters, salt: cacheSalt)
        let known = prefixes.longestPrefix(of: prompt[..<(found.first * pageTokens)], after: root, promptOnly: true)
        // Pages before them may have been evicted meanwhile.
        guard known.count == found.first else { return }
        let start = found.first * pageTokens
        let end = start + found.pages.count * pageTokens
        let path = prefixes.insert(
            found.pages, of: prompt[start..<end], media, after: known.last ?? root, promptPages: found.pages.count)
        for node in path { node.isStored = true }
        guard let checkpoint = found.checkpoint, let last = path.last, last.checkpoint == nil else { return }
        prefixes.add(checkpoint, at: end, of: state.shape, to: last)
        last.isCheckpointStored = true
    }

    /// Hands the state over to who asked for it, at the end of the answer.
    func handOver() { finalState?.state = state }

    /// Discards everything when the sequence is preempted.
    func forget() {
        state = SequenceState(state.shape, in: memory)
        path = []
    }

    /// Requests a checkpoint for another sequence at this length of the prompt, a multiple of the page size.
    func wantCheckpoint(at length: Int) { checkpointLengths.insert(length) }

    /// Where a prefill chunk of this range has to end. With recurrent layers it ends at a page border, which makes
    /// results independent of the chunks, and at checkpoint lengths, which cannot be stored afterwards.
    func pieceEnd(_ range: Range<Int>) -> Int {
        guard state.shape.recurrentFloats > 0 else { return media?.pieceEnd(range) ?? range.upperBound }
        let border = (range.upperBound + pageTokens - 1) / pageTokens * pageTokens
        return checkpointLengths.reduce(min(border, promptCount)) { $1 > range.lowerBound ? min($0, $1) : $0 }
    }

    /// Adds the pages that were filled since the last call to the prefix cache.
    ///
    /// - Returns: Whether there were any.
    func share(_ tokens: [Int32], with prefixes: inout PrefixCache) -> Bool {
        let known = path.count
        while encoding == nil, (path.count + 1) * pageTokens <= state.count {
            let index = path.count
            let range = index * pageTokens..<(index + 1) * pageTokens
            let node = prefixes.insert(
                state.sharedPages(index), of: tokens[range],
                after: path.last ?? prefixes.root(adapters, salt: cacheSalt),
                isPrompt: range.upperBound <= promptCount, storeKey: { $0?.next(tokens[range], media) })
            // Another sequence may have added this page first: keep one copy.
            state.replacePages(index, by: node.pages)
            path.append(node)
            addCheckpoint(to: node, at: range.upperBound)
        }
        return path.count > known
    }

    private func addCheckpoint(to node: PrefixCache.Node, at length: Int) {
        let isAnswer = length > promptCount
        guard state.shape.needsCheckpoints, isAnswer || checkpointLengths.contains(length),
            node.checkpoint == nil, let checkpoint = state.makeCheckpoint(at: length)
        else { return }
        node.checkpoint = checkpoint
        guard isAnswer else { return }
        answerCheckpoint?.checkpoint = nil
        answerCheckpoint = node
    }
}
