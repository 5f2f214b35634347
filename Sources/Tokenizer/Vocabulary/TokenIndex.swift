/// Finds the token with a given text.
///
/// A flat hash table with linear probing. Texts up to eight bytes are stored in the slot itself, so that most tokens
/// are found with one memory access. Empty strings are not found.
struct TokenIndex: Sendable {
    /// The lookup key of a string.
    struct Key {
        /// The bytes themselves if there are at most eight, else their hash.
        var word: UInt64
        var hash: UInt64
    }

    private struct Slot {
        var word: UInt64 = 0
        var length: UInt32 = 0
        /// -1: the slot is empty.
        var id: Int32 = -1
    }

    private var slots: [Slot]
    private let strings: ByteStrings
    /// Tokens that are not found because a later one has the same text.
    private var hidden: Set<Int32> = []
    /// Length in bytes of the longest string.
    let maxLength: Int

    init(_ strings: ByteStrings) {
        var capacity = 16
        while capacity < 2 * strings.count { capacity *= 2 }
        self.strings = strings
        slots = Array(repeating: Slot(), count: capacity)
        maxLength = (0..<strings.count).lazy.map { strings.range($0).count }.max() ?? 0
        for id in 0..<strings.count where !strings.range(id).isEmpty { insert(Int32(truncatingIfNeeded: id)) }
    }

    private mutating func insert(_ id: Int32) {
        let (slot, key, length) = strings.withBytes(of: Int(id)) { bytes in
            let key = Self.key(bytes)
            return (place(of: bytes, key), key, UInt32(truncatingIfNeeded: bytes.count))
        }
        if slots[slot].id >= 0 { hidden.insert(slots[slot].id) }
        slots[slot] = Slot(word: key.word, length: length, id: id)
    }

    func find(_ bytes: UnsafeBufferPointer<UInt8>) -> Int32? { find(bytes, Self.key(bytes)) }

    func find(_ bytes: UnsafeBufferPointer<UInt8>, _ key: Key) -> Int32? {
        let id = slots[place(of: bytes, key)].id
        return id >= 0 ? id : nil
    }

    /// The slot of a string, or the one to insert it into.
    private func place(of bytes: UnsafeBufferPointer<UInt8>, _ key: Key) -> Int {
        slots.withUnsafeBufferPointer { slots in
            let length = UInt32(truncatingIfNeeded: bytes.count)
            var slot = Int(truncatingIfNeeded: key.hash) & (slots.count - 1)
            while slots[slot].id >= 0 {
                if slots[slot].word == key.word, slots[slot].length == length,
                    length <= 8 || strings.withBytes(of: Int(slots[slot].id), { Self.equal($0, bytes) })
                {
                    break
                }
                slot = (slot + 1) & (slots.count - 1)
            }
            return slot
        }
    }

    /// Whether `bytes` finds the token `id`.
    func isFound(_ id: Int32, by bytes: [UInt8]) -> Bool {
        guard id >= 0, id < strings.count, strings.range(Int(id)).count == bytes.count, !hidden.contains(id) else {
            return false
        }
        return bytes.withUnsafeBufferPointer { bytes in strings.withBytes(of: Int(id)) { Self.equal($0, bytes) } }
    }

    private static func equal(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Bool {
        guard a.count == b.count else { return false }
        for i in 0..<a.count where a[i] != b[i] { return false }
        return true
    }

    /// The hash processes eight bytes per step: a multiplication, whose upper half is mixed into the lower.
    static func key(_ bytes: UnsafeBufferPointer<UInt8>) -> Key {
        var hash = UInt64(truncatingIfNeeded: bytes.count)
        var word: UInt64 = 0
        var i = 0
        while i < bytes.count {
            word = 0
            if bytes.count - i >= 8 {
                word = UnsafeRawPointer(bytes.baseAddress.unsafelyUnwrapped + i).loadUnaligned(as: UInt64.self)
            } else {
                for k in 0..<(bytes.count - i) { word |= UInt64(bytes[i + k]) << UInt64(8 * k) }
            }
            let product = (hash ^ word ^ 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
            hash = product.high ^ product.low
            i += 8
        }
        return Key(word: bytes.count <= 8 ? word : hash, hash: hash)
    }
}
