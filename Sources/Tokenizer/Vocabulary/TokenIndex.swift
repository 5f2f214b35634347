/// Finds the token that a byte string spells.
///
/// A flat hash table with linear probing. A slot holds the upper half of the hash beside the id, so that almost only
/// the right token's bytes are ever compared. Empty strings are not found.
struct TokenIndex: Sendable {
    /// Upper 32 bits: the hash's. Lower 32 bits: id + 1, or 0 for an empty slot.
    private var slots: [UInt64]
    private let mask: Int
    private let strings: ByteStrings
    /// Tokens that are not found, since a later one spells the same.
    private var hidden: Set<Int32> = []
    /// No longer byte string is found.
    let maxLength: Int

    /// Where a string occurs twice the later id is found.
    init(_ strings: ByteStrings) {
        var capacity = 16
        while capacity < 2 * strings.count { capacity *= 2 }
        self.strings = strings
        mask = capacity - 1
        slots = [UInt64](repeating: 0, count: capacity)
        maxLength = (0..<strings.count).lazy.map { strings.range($0).count }.max() ?? 0
        for id in 0..<strings.count where !strings.range(id).isEmpty { insert(Int32(truncatingIfNeeded: id)) }
    }

    private mutating func insert(_ id: Int32) {
        let (hash, earlier, slot) = strings.withBytes(of: Int(id)) { bytes in
            let hash = Self.hash(bytes)
            let (earlier, slot) = find(bytes, hash: hash)
            return (hash, earlier, slot)
        }
        if let earlier { hidden.insert(earlier) }
        slots[slot] = (hash & ~0xFFFF_FFFF) | UInt64(id + 1)
    }

    func find(_ bytes: UnsafeBufferPointer<UInt8>) -> Int32? { find(bytes, hash: Self.hash(bytes)).id }

    func find(_ bytes: UnsafeBufferPointer<UInt8>, hash: UInt64) -> (id: Int32?, slot: Int) {
        var slot = Int(truncatingIfNeeded: hash) & mask
        return slots.withUnsafeBufferPointer { slots in
            while slots[slot] != 0 {
                let id = Int32(truncatingIfNeeded: slots[slot] & 0xFFFF_FFFF) - 1
                if slots[slot] >> 32 == hash >> 32, strings.withBytes(of: Int(id), { Self.equal($0, bytes) }) {
                    return (id, slot)
                }
                slot = (slot + 1) & mask
            }
            return (nil, slot)
        }
    }

    /// Whether a number is that of the token that `bytes` finds.
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

    /// Eight bytes a step, each folded in by a multiplication whose upper half is mixed back.
    static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
        var hash = UInt64(truncatingIfNeeded: bytes.count)
        var i = 0
        while i < bytes.count {
            var word: UInt64 = 0
            let step = min(8, bytes.count - i)
            if step == 8 {
                word = UnsafeRawPointer(bytes.baseAddress.unsafelyUnwrapped + i).loadUnaligned(as: UInt64.self)
            } else {
                for k in 0..<step { word |= UInt64(bytes[i + k]) << UInt64(8 * k) }
            }
            let product = (hash ^ word ^ 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
            hash = product.high ^ product.low
            i += step
        }
        return hash
    }
}
