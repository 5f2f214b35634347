import KernelsPortable

/// Keys and values of what requests began with, for later requests that begin the same way.
///
/// A tree of pages: a node is a page of 32 tokens after those of its parents. Rows of a prompt are rounded otherwise than
/// those of an answer, so each node also says whether it holds what computing its tokens as a prompt gives. A request
/// that must give the same text every time starts from such pages only.
///
/// Used by the engine's thread only.
struct PrefixCache {
    final class Node {
        /// A page of each group.
        fileprivate(set) var pages: [SequenceState.Part]
        /// Whether this page and all before it were computed as a prompt.
        let isPrompt: Bool
        fileprivate let id: Int
        fileprivate let parent: Node?
        fileprivate var children = 0
        /// When a sequence last began with it: never later than its parent's.
        fileprivate var lastUse = 0

        fileprivate init(id: Int, pages: [SequenceState.Part], isPrompt: Bool, parent: Node?) {
            self.id = id
            self.pages = pages
            self.isPrompt = isPrompt
            self.parent = parent
        }

        /// Whether a sequence works on this page too.
        fileprivate var isInUse: Bool { pages.indices.contains { !isKnownUniquelyReferenced(&pages[$0]) } }
    }

    private struct Key: Hashable {
        let parent: Int
        let tokens: [Int32]
        let isPrompt: Bool
    }

    /// Where every sequence begins.
    let root = Node(id: 0, pages: [], isPrompt: true, parent: nil)
    /// All nodes in one table: trees as deep as a context is long are no matter for recursion.
    private var nodes: [Key: Node] = [:]
    private var lastID = 0
    private var clock = 0

    /// Pages in the tree.
    var count: Int { nodes.count }

    /// The longest known beginning of `tokens`: its nodes, first page first.
    ///
    /// - Parameter promptOnly: Whether pages that hold tokens of answers are left out.
    mutating func longestPrefix(of tokens: ArraySlice<Int32>, promptOnly: Bool) -> [Node] {
        clock += 1
        root.lastUse = clock
        var path: [Node] = []
        var node = root
        for start in stride(from: tokens.startIndex, through: tokens.endIndex - pageTokens, by: pageTokens) {
            let page = Array(tokens[start..<start + pageTokens])
            var next = nodes[Key(parent: node.id, tokens: page, isPrompt: true)]
            if next == nil, !promptOnly { next = nodes[Key(parent: node.id, tokens: page, isPrompt: false)] }
            guard let next else { break }
            next.lastUse = clock
            path.append(next)
            node = next
        }
        return path
    }

    /// Adds the page that `tokens` fill after those of `node`.
    ///
    /// - Returns: Its node; where there was one already, that, and `pages` are not needed.
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

    /// Drops pages that no sequence uses, those first that were used longest ago, until at most `limit` are left or
    /// all are in use.
    mutating func shrink(to limit: Int) {
        guard count > limit else { return }
        // Children, which have the higher numbers, go before their parents.
        let oldestFirst = nodes.sorted { ($0.value.lastUse, -$0.value.id) < ($1.value.lastUse, -$1.value.id) }
        for (key, node) in oldestFirst where count > limit && node.children == 0 && !node.isInUse {
            node.parent?.children -= 1
            nodes[key] = nil
        }
    }
}
