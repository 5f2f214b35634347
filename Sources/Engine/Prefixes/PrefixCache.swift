import Compute
import KernelFormats

/// The prefix cache: states of earlier requests' prefixes, for later requests that begin the same way.
///
/// A tree of pages: a node stands for the 32 tokens after those of its ancestors. It holds their keys and values in
/// layers without a window. Some nodes also hold a checkpoint (pages in windows and recurrent floats), which a sequence
/// needs to begin there if the network has such layers. Prefill and decode round differently, so each node says whether
/// its page was prefilled. A request whose text must be reproducible starts from prefilled nodes only.
///
/// Used by the engine's thread only.
struct PrefixCache {
    /// One page. Sequences retain the nodes that they use; other nodes may be evicted.
    final class Node {
        /// Pages as returned by `SequenceState.sharedPages`.
        let pages: [SequenceState.Buffer]
        var checkpoint: SequenceState.Checkpoint?
        /// The same of the drafter's state; `nil` if it was not computed.
        var draftPages: [SequenceState.Buffer]?
        /// Whether this page and all before it were prefilled.
        let isPrompt: Bool
        /// The key of the page on disk; `nil` if it is not to be stored.
        let key: PrefixKey?
        /// Whether the page is on disk or about to be written.
        var isStored = false
        /// Whether the checkpoint is, which may come later than the page.
        var isCheckpointStored = false
        /// When the files of this page and those before it were last marked as used.
        var touched: ContinuousClock.Instant?
        fileprivate let id: Int
        fileprivate unowned let parent: Node?
        fileprivate var children = 0
        /// When a sequence last began with this node; never later than the parent's.
        fileprivate var lastUse = 0

        fileprivate init(id: Int, pages: [SequenceState.Buffer], isPrompt: Bool, key: PrefixKey?, parent: Node?) {
            self.key = key
            self.id = id
            self.pages = pages
            self.isPrompt = isPrompt
            self.parent = parent
        }
    }

    private struct Key: Hashable {
        let parent: Int
        let tokens: [Int32]
        let isPrompt: Bool
    }

    /// The properties that sequences must have in common to share pages.
    private struct Origin: Hashable {
        let adapters: AdapterSelection
        let salt: String?
    }

    /// Root nodes of sequences.
    private var roots: [Origin: Node] = [:]
    private var rootsToSweep = 64
    /// All nodes in one flat table, so that deep trees need no recursion.
    private var nodes: [Key: Node] = [:]
    private let memory: StateMemory
    /// The keys of prompts with these adapters and this salt on disk; `nil`: they are not stored.
    private let makeKey: (AdapterSelection, _ salt: String?) -> PrefixKey?
    private var lastID = 0
    private var clock = 0

    /// - Parameters:
    ///   - memory: Counts the bytes of nodes and of all sequences.
    ///   - makeKey: The keys of prompts on disk; `nil`: they are not stored.
    init(_ memory: StateMemory, makeKey: @escaping (AdapterSelection, _ salt: String?) -> PrefixKey? = { _, _ in nil })
    {
        self.memory = memory
        self.makeKey = makeKey
    }

    /// The root node of a sequence.
    ///
    /// - Parameters:
    ///   - adapters: The adapters of the sequence.
    ///   - salt: Separates clients, so that timing does not reveal the prompts of others.
    mutating func root(_ adapters: AdapterSelection, salt: String? = nil) -> Node {
        let origin = Origin(adapters: adapters, salt: salt)
        if let root = roots[origin] { return root }
        // Roots without pages are removed now and then, so that unused combinations do not accumulate.
        if roots.count >= rootsToSweep {
            roots = roots.filter { $0.value.children > 0 }
            rootsToSweep = max(64, 2 * roots.count)
        }
        lastID += 1
        let root = Node(id: lastID, pages: [], isPrompt: true, key: makeKey(adapters, salt), parent: nil)
        roots[origin] = root
        return root
    }

    /// Number of pages in the tree.
    var count: Int { nodes.count }

    /// The nodes of the longest cached prefix of `tokens`, first page first.
    ///
    /// - Parameters:
    ///   - root: Root of the sequence.
    ///   - promptOnly: Whether to skip pages that were decoded.
    mutating func longestPrefix(of tokens: ArraySlice<Int32>, after root: Node, promptOnly: Bool) -> [Node] {
        clock += 1
        root.lastUse = clock
        var path: [Node] = []
        var node = root
        for start in stride(from: tokens.startIndex, through: tokens.endIndex - pageTokens, by: pageTokens) {
            let page = Array(tokens[start..<start + pageTokens])
            var next = nodes[Key(parent: node.id, tokens: page, isPrompt: true)]
            if next == nil, !promptOnly {
                next = nodes[Key(parent: node.id, tokens: page, isPrompt: false)]
            }
            guard let next else { break }
            next.lastUse = clock
            path.append(next)
            node = next
        }
        return path
    }

    /// Adds the page that `tokens` fill after those of `node`.
    ///
    /// - Parameter storeKey: The key of the page on disk, after that of `node`.
    /// - Returns: The new node, or the existing one for these tokens; then `pages` are not used.
    mutating func insert(
        _ pages: [SequenceState.Buffer], of tokens: ArraySlice<Int32>, after node: Node, isPrompt: Bool,
        storeKey: (PrefixKey?) -> PrefixKey? = { _ in nil }
    ) -> Node {
        let key = Key(parent: node.id, tokens: Array(tokens), isPrompt: isPrompt && node.isPrompt)
        if let known = nodes[key] {
            known.lastUse = node.lastUse
            return known
        }
        lastID += 1
        let new = Node(
            id: lastID, pages: pages, isPrompt: key.isPrompt, key: key.isPrompt ? storeKey(node.key) : nil, parent: node
        )
        new.lastUse = node.lastUse
        node.children += 1
        nodes[key] = new
        return new
    }

    /// Adds pages that were read from a file, those of `tokens` after `node`.
    ///
    /// - Parameter promptPages: So many of the first pages were prefilled; the others are answers'.
    /// - Returns: The nodes of the pages.
    mutating func insert(
        _ pages: [[AlignedBuffer]], of tokens: ArraySlice<Int32>, _ media: SequenceMedia?, after node: Node,
        promptPages: Int
    ) -> [Node] {
        var path: [Node] = []
        for (index, buffers) in pages.enumerated() {
            let start = tokens.startIndex + index * pageTokens
            let page = tokens[start..<start + pageTokens]
            path.append(
                insert(
                    buffers.map { SequenceState.Buffer($0, in: memory) }, of: page, after: path.last ?? node,
                    isPrompt: index < promptPages, storeKey: { $0?.next(page, media) }))
        }
        return path
    }

    /// Gives a node the checkpoint that was read from a file, unless it has one.
    func add(_ checkpoint: [AlignedBuffer], at length: Int, of shape: StateShape, to node: Node) {
        guard node.checkpoint == nil else { return }
        node.checkpoint = SequenceState.Checkpoint(
            checkpoint.map { SequenceState.Buffer($0, in: memory) }, at: length, of: shape)
    }

    /// Evicts nodes that no sequence uses, least recently used first, until all states together take at most `limit`
    /// bytes or no such node is left.
    mutating func shrink(to limit: Int) {
        guard memory.bytes > limit else { return }
        // Children have higher IDs and are evicted before their parents.
        let oldestFirst = nodes.map { (key: $0.key, lastUse: $0.value.lastUse, id: $0.value.id) }
            .sorted { ($0.lastUse, -$0.id) < ($1.lastUse, -$1.id) }
        for (key, _, _) in oldestFirst where memory.bytes > limit { _ = evict(key) }
    }

    /// Evicts the pages of `tokens` that nothing else uses: no sequence, and no other text that begins with them.
    mutating func evict(_ tokens: ArraySlice<Int32>, after root: Node) {
        var keys: [Key] = []
        var parent = root.id
        for start in stride(from: tokens.startIndex, through: tokens.endIndex - pageTokens, by: pageTokens) {
            let page = Array(tokens[start..<start + pageTokens])
            let key = [true, false].map { Key(parent: parent, tokens: page, isPrompt: $0) }.first { nodes[$0] != nil }
            guard let key, let id = nodes[key]?.id else { break }
            keys.append(key)
            parent = id
        }
        while let key = keys.popLast(), evict(key) {}
    }

    /// - Returns: Whether the node was evicted: no sequence uses it, and no page follows it.
    private mutating func evict(_ key: Key) -> Bool {
        guard nodes[key]!.children == 0, isKnownUniquelyReferenced(&nodes[key]!) else { return false }
        nodes[key]!.parent?.children -= 1
        nodes[key] = nil
        return true
    }
}
