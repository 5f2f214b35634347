/// Where in a string or a name the text is.
struct TextPoint: Hashable {
    /// Of the automaton.
    var state: Int32 = StringAutomaton.start
    /// Characters of the string, if some schema counts them.
    var count: Int32 = 0
    /// 0, or where in an escape: see `Escape`.
    var sub: UInt8 = 0
    var code: UInt16 = 0
}

/// Follows the content of a string through a tree of tokens.
/// - Parameters:
///   - points: Room for one at each depth; the walk begins at `points[depth of root]`.
///   - plain: Reads a byte that stands for itself; false if it is refused.
///   - escape: Reads a byte of an escape, its backslash included; the node's index comes with it.
///   - content: Takes the end of a node whose tokens stay in the string, and where they leave it.
///   - close: Takes a node whose byte is the closing quote, and where the string ends. The walk does not go below it.
///   - whole: Takes a node with others below it, and where its byte leads; true if it has dealt with all of them.
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
