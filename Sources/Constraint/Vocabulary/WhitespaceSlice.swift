/// Tokens by leading JSON white space; `whole` are those that consist of it, which leave a state unchanged.
struct WhitespaceSlice: Sendable {
    let whole: TokenMask
    /// Trie of the texts after leading white space, by index in `groups`.
    let remainders: TokenTrie
    let groups: [[Int32]]
    /// Tokens that do not begin with white space.
    let others: TokenTrie

    @inline(__always)
    static func isWhitespace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 }

    init(_ bytes: [[UInt8]]) {
        var whole = TokenMask(count: bytes.count)
        var groupOf: [ArraySlice<UInt8>: Int32] = [:]
        var groups: [[Int32]] = []
        var others: [(bytes: ArraySlice<UInt8>, token: Int32)] = []
        for id in bytes.indices where !bytes[id].isEmpty && bytes[id].count <= TokenTrie.longestToken {
            let rest = bytes[id].drop(while: Self.isWhitespace)
            if rest.isEmpty {
                whole.insert(Int32(id))
            } else if rest.count == bytes[id].count {
                others.append((rest, Int32(id)))
            } else if let group = groupOf[rest] {
                groups[Int(group)].append(Int32(id))
            } else {
                groupOf[rest] = Int32(groups.count)
                groups.append([Int32(id)])
            }
        }
        self.whole = whole
        self.others = TokenTrie(others)
        remainders = TokenTrie(groupOf.map { (bytes: $0.key, token: $0.value) })
        self.groups = groups
    }
}
