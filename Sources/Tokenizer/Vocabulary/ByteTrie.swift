/// A prefix tree of byte strings.
///
/// Edges are in one flat hash table: (node, byte) → node. Node numbers are below 2²⁴.
struct ByteTrie: Sendable {
    /// The value of each node's string, or -1.
    private(set) var values: [Int32] = [-1]
    /// Upper half: node · 256 + byte + 1, or 0 for an empty slot. Lower half: the child.
    private var slots = [UInt64](repeating: 0, count: 64)

    static let root: UInt32 = 0
    private static let maxNodes = (1 << 24) - 1

    var isEmpty: Bool { values.count == 1 }

    /// - Throws: `TokenizerError` if the tree is full.
    mutating func insert(_ string: [UInt8], value: Int32) throws(TokenizerError) {
        var node = Self.root
        for byte in string {
            if let child = child(of: node, byte) {
                node = child
                continue
            }
            guard values.count < Self.maxNodes else {
                throw .invalid(
                    field: "tokenizer.ggml.tokens",
                    reason: "the tokens need more than \(Self.maxNodes) nodes of a trie of bytes, the limit.")
            }
            let child = UInt32(values.count)
            values.append(-1)
            if 2 * values.count > slots.count { grow() }
            add(Self.key(node, byte), child)
            node = child
        }
        values[Int(node)] = value
    }

    func child(of node: UInt32, _ byte: UInt8) -> UInt32? {
        let key = Self.key(node, byte)
        return slots.withUnsafeBufferPointer { slots in
            var slot = Self.slot(key, slots.count)
            while slots[slot] != 0 {
                if slots[slot] >> 32 == key { return UInt32(truncatingIfNeeded: slots[slot]) }
                slot = (slot + 1) & (slots.count - 1)
            }
            return nil
        }
    }

    /// The longest string in the tree that is a prefix of `bytes`.
    func longestPrefix(of bytes: Slice<UnsafeBufferPointer<UInt8>>) -> (length: Int, value: Int32)? {
        var node = Self.root
        var longest: (length: Int, value: Int32)?
        var length = 0
        for byte in bytes {
            guard let child = child(of: node, byte) else { break }
            node = child
            length += 1
            if values[Int(node)] >= 0 { longest = (length, values[Int(node)]) }
        }
        return longest
    }

    // node <= 2²⁴ - 2, so node · 256 + byte + 1 < 2³².
    private static func key(_ node: UInt32, _ byte: UInt8) -> UInt64 { UInt64(node) << 8 + UInt64(byte) + 1 }

    private static func slot(_ key: UInt64, _ count: Int) -> Int {
        Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> 24) & (count - 1)
    }

    private mutating func add(_ key: UInt64, _ child: UInt32) {
        var slot = Self.slot(key, slots.count)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = key << 32 | UInt64(child)
    }

    private mutating func grow() {
        let old = slots
        slots = [UInt64](repeating: 0, count: 2 * old.count)
        for entry in old where entry != 0 { add(entry >> 32, UInt32(truncatingIfNeeded: entry)) }
    }
}
