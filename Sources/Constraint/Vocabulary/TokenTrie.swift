/// A trie of the tokens' byte strings as a flat array, depth first: a node's subtree is the run of nodes after it.
///
/// Node 0 is the root (the empty string). A walk goes through the array in order and skips the subtree of a byte that
/// is not allowed.
struct TokenTrie: Sendable {
    struct Node: Sendable {
        /// Index of the first node after this subtree.
        var next: Int32
        /// Index for `tokens(at:)` of the tokens that end here; -1: none.
        var end: Int32
        /// Depth in bytes.
        var depth: Int16
        var byte: UInt8
    }

    private(set) var nodes: [Node]
    /// The tokens of end `i` are `tokens[starts[i]..<starts[i + 1]]`: several if they have the same text.
    private(set) var starts: [Int32] = [0]
    private(set) var tokens: [Int32] = []
    /// By node: index in `tokens` of the first one that ends at the node or below it, plus one final entry.
    private(set) var firsts: [Int32] = [0]
    /// By node: the kinds of content of its tokens after the node's own byte.
    private(set) var contents: [ContentKinds] = []
    private(set) var maximumDepth = 0

    /// Longer tokens, in bytes, are left out and never allowed.
    static let longestToken = 1 << 12

    init(_ entries: [(bytes: ArraySlice<UInt8>, token: Int32)]) {
        let sorted = entries.filter { !$0.bytes.isEmpty && $0.bytes.count <= Self.longestToken }
            .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        nodes = [Node(next: 1, end: -1, depth: 0, byte: 0)]
        nodes.reserveCapacity(2 * sorted.count)
        tokens.reserveCapacity(sorted.count)
        var path = [0]  // nodes from the root to the last one added
        var previous: ArraySlice<UInt8> = []
        for (bytes, token) in sorted {
            let common = zip(bytes, previous).prefix { $0 == $1 }.count
            while path.count > common + 1 { nodes[path.removeLast()].next = Int32(nodes.count) }
            for byte in bytes.dropFirst(common) {
                nodes.append(Node(next: 0, end: -1, depth: Int16(path.count), byte: byte))
                firsts.append(Int32(tokens.count))
                path.append(nodes.count - 1)
            }
            maximumDepth = max(maximumDepth, bytes.count)
            let node = path[path.count - 1]
            if nodes[node].end < 0 {
                nodes[node].end = Int32(starts.count - 1)
                starts.append(Int32(tokens.count))
            }
            tokens.append(token)
            starts[starts.count - 1] = Int32(tokens.count)
            previous = bytes
        }
        for node in path { nodes[node].next = Int32(nodes.count) }
        firsts.append(Int32(tokens.count))
        contents = Self.contents(nodes, maximumDepth)
    }

    private static func contents(_ nodes: [Node], _ maximumDepth: Int) -> [ContentKinds] {
        var result = [ContentKinds](repeating: [], count: nodes.count)
        // By depth: position within a character at the end of the node on the current path.
        var borders = [UInt8](repeating: 0, count: maximumDepth + 1)
        for (index, node) in nodes.enumerated().dropFirst() {
            let depth = Int(node.depth)
            borders[depth] = UTF8State.step(borders[depth - 1], node.byte)
            if borders[depth] != 0, borders[depth] == UTF8State.refused || node.end >= 0 { result[index] = .irregular }
        }
        // Propagates a node's kinds, its own byte included, to its parent: the last node above it on a lower level.
        var below = [ContentKinds](repeating: [], count: maximumDepth + 2)
        for (index, node) in nodes.enumerated().reversed() {
            let depth = Int(node.depth)
            let isIrregular = result[index] == .irregular
            result[index] = below[depth + 1]
            below[depth + 1] = []
            below[depth].formUnion(result[index])
            below[depth].formUnion(ContentKinds(node.byte))
            if isIrregular { below[depth].insert(.irregular) }
        }
        return result
    }

    /// The tokens of an end, see `Node.end`.
    func tokens(at end: Int32) -> [Int32] { Array(tokens[Int(starts[Int(end)])..<Int(starts[Int(end) + 1])]) }

    /// The tokens that continue from a node, without those that end there.
    func tokens(below node: Int) -> ArraySlice<Int32> {
        let end = nodes[node].end
        let first = end >= 0 ? starts[Int(end) + 1] : firsts[node]
        return tokens[Int(first)..<Int(firsts[Int(nodes[node].next)])]
    }

    @inline(__always)
    func withTokens(at end: Int32, _ body: (Int32) -> Void) {
        for index in Int(starts[Int(end)])..<Int(starts[Int(end) + 1]) { body(tokens[index]) }
    }

    func child(of node: Int, _ byte: UInt8) -> Int? {
        var index = node + 1
        let end = Int(nodes[node].next)
        while index < end {
            if nodes[index].byte == byte { return index }
            index = Int(nodes[index].next)
        }
        return nil
    }

    func withPointers<R>(
        _ body: (UnsafeBufferPointer<Node>, UnsafePointer<Int32>, UnsafePointer<Int32>) -> R
    ) -> R {
        nodes.withUnsafeBufferPointer { nodes in
            starts.withUnsafeBufferPointer { starts in
                // Without tokens, no node has an end.
                tokens.withUnsafeBufferPointer { tokens in
                    body(nodes, starts.baseAddress!, tokens.baseAddress ?? starts.baseAddress!)
                }
            }
        }
    }

    /// Adds to `words` the tokens that end at the node.
    @inline(__always)
    static func add(
        _ end: Int32, _ starts: UnsafePointer<Int32>, _ tokens: UnsafePointer<Int32>,
        to words: UnsafeMutablePointer<UInt64>
    ) {
        for index in Int(starts[Int(end)])..<Int(starts[Int(end) + 1]) {
            let token = Int(tokens[index])
            words[token >> 6] |= 1 << UInt64(token & 63)
        }
    }
}
