import KernelFormats

/// States of what requests began with, for later requests that begin the same way.
///
/// A tree of pages: a node stands for the 32 tokens after those of its parents. It holds their keys and values in layers
/// without a window, and some nodes a checkpoint: pages in windows and recurrent floats, without which a sequence of a network
/// that has such layers cannot begin there. Rows of a prompt are rounded otherwise than those of an answer, so each node
/// also says whether it holds what computing its tokens as a prompt gives. A request that must give the same text every
/// time starts from such nodes only.
///
/// Used by the engine's thread only.
struct PrefixCache {
    /// A sequence holds the nodes that it works with; the others may be evicted.
    final class Node {
        /// What `SequenceState.sharedPages` returned.
        let pages: [SequenceState.Part]
        var checkpoint: SequenceState.Checkpoint?
        /// Whether this page and all before it were computed as a prompt.
        let isPrompt: Bool
        fileprivate let id: Int
        fileprivate unowned let parent: Node?
        fileprivate var children = 0
        /// When a sequence last began with it: never later than its parent's.
        fileprivate var lastUse = 0

        fileprivate init(id: Int, pages: [SequenceState.Part], isPrompt: Bool, parent: Node?) {
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

    /// What sequences must have in common to share pages.
    private struct Origin: Hashable {
        let adapters: AdapterSelection
        let salt: String?
    }

    /// Where sequences begin.
    private var roots: [Origin: Node] = [:]
    /// All nodes in one table: trees as deep as a context is long are no matter for recursion.
    private var nodes: [Key: Node] = [:]
    private let memory: StateMemory
    private var lastID = 0
    private var clock = 0

    /// - Parameter memory: Counts the bytes that nodes hold, and those of all sequences.
    init(_ memory: StateMemory) { self.memory = memory }

    /// The node at which sequences begin.
    ///
    /// - Parameters:
    ///   - adapters: Those that act on the sequence.
    ///   - salt: Keeps apart those who must not see in the timing what others have asked.
    mutating func root(_ adapters: AdapterSelection, salt: String? = nil) -> Node {
        let origin = Origin(adapters: adapters, salt: salt)
        if let root = roots[origin] { return root }
        // Roots that have lost all their pages go, so that scales that nobody asks for again leave nothing.
        roots = roots.filter { $0.value.children > 0 }
        lastID += 1
        let root = Node(id: lastID, pages: [], isPrompt: true, parent: nil)
        roots[origin] = root
        return root
    }

    /// Pages of tokens in the tree.
    var count: Int { nodes.count }

    /// The longest known beginning of `tokens`: its nodes, first page first.
    ///
    /// - Parameters:
    ///   - root: Where such sequences begin.
    ///   - promptOnly: Whether pages that hold tokens of answers are left out.
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

    /// Adds the pages that `tokens` fill after those of `node`.
    ///
    /// - Returns: Their node; where there was one already, that, and `pages` are not needed.
    mutating func insert(
        _ pages: [SequenceState.Part], of tokens: ArraySlice<Int32>, after node: Node, isPrompt: Bool
    ) -> Node {
        let key = Key(parent: node.id, tokens: Array(tokens), isPrompt: isPrompt && node.isPrompt)
        if let known = nodes[key] {
            known.lastUse = node.lastUse
            return known
        }
        lastID += 1
        let new = Node(id: lastID, pages: pages, isPrompt: key.isPrompt, parent: node)
        new.lastUse = node.lastUse
        node.children += 1
        nodes[key] = new
        return new
    }

    /// Evicts nodes that no sequence works with, those first that were used longest ago, until all states together take
    /// at most `limit` bytes or no such node is left.
    mutating func shrink(to limit: Int) {
        guard memory.bytes > limit else { return }
        // Children, which have the higher numbers, go before their parents.
        let oldestFirst = nodes.map { (key: $0.key, lastUse: $0.value.lastUse, id: $0.value.id) }
            .sorted { ($0.lastUse, -$0.id) < ($1.lastUse, -$1.id) }
        for (key, _, _) in oldestFirst where memory.bytes > limit {
            guard nodes[key]!.children == 0, isKnownUniquelyReferenced(&nodes[key]!) else { continue }
            nodes[key]!.parent?.children -= 1
            nodes[key] = nil
        }
    }
}
