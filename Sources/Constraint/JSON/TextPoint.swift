/// The position in a string or a name.
struct TextPoint: Hashable {
    /// State of the automaton.
    var state: Int32 = StringAutomaton.start
    /// Number of characters, if a schema counts them.
    var count: Int32 = 0
    /// 0, or the position in an escape: see `Escape`.
    var sub: UInt8 = 0
    var code: UInt16 = 0
}

/// Follows the content of a string through a trie of tokens.
/// - Parameters:
///   - points: Room for one point per depth; the walk begins at `points[depth of root]`.
///   - plain: Reads a byte outside of escapes; returns false if it is rejected.
///   - escape: Reads a byte of an escape, backslash included; also gets the node's index.
///   - content: Called at nodes whose tokens stay in the string, with the point after them.
///   - close: Called at nodes whose byte is the closing quote, with the point before it. The walk does not descend
///     further.
///   - whole: Called at inner nodes with the point after their byte; returns true if it has handled the subtree.
@inline(__always)
func followText(
    _ trie: TokenTrie, below root: Int, _ points: UnsafeMutablePointer<TextPoint>, visited: inout Int,
    plain: (inout TextPoint, UInt8) -> Bool, escape: (inout TextPoint, UInt8, Int) -> Bool,
    content: (Int32, TextPoint) -> Void, close: (Int, TextPoint) -> Void,
    whole: (Int, TextPoint) -> Bool = { _, _ in false }
) {
    trie.withPointers { nodes, _, _ in
        var index = root + 1
        let end = Int(nodes[root].next)
        var count = 0
        while index < end {
            let node = nodes[index]
            let level = Int(node.depth)
            var point = points[level - 1]
            count &+= 1
            let isTaken: Bool
            if point.sub != 0 || node.byte == UInt8(ascii: "\\") {
                isTaken = escape(&point, node.byte, index)
            } else if node.byte == UInt8(ascii: "\"") {
                close(index, point)
                isTaken = false
            } else {
                isTaken = node.byte >= 0x20 && plain(&point, node.byte)
            }
            guard isTaken else {
                index = Int(node.next)
                continue
            }
            if node.end >= 0 { content(node.end, point) }
            if Int(node.next) > index + 1, point.sub == 0, whole(index, point) {
                index = Int(node.next)
                continue
            }
            points[level] = point
            index += 1
        }
        visited &+= count
    }
}
