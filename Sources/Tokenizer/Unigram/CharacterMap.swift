/// SentencePiece's compiled normalization rules: the longest matching prefix is replaced.
///
///     | size of the trie in bytes: u32 | the trie: u32 … | the replacements, each ended by a zero byte |
///
/// The trie is a double array of the Darts-clone library. A unit has the label of the edge that leads to it in bits 0-7
/// (bit 31 marks a value instead), in bit 8 whether a string ends here, and the offset to its children from bit 10,
/// times 256 if bit 9 is set. Children are found by exclusive or: unit ⊕ offset ⊕ label.
struct CharacterMap: Sendable {
    private var units: [UInt32] = []
    private var replacements: [UInt8] = []

    /// An empty map replaces nothing.
    init(_ blob: [UInt8]) throws(TokenizerError) {
        guard !blob.isEmpty else { return }
        let size = blob.count < 4 ? 0 : Int(Self.word(blob, 0))
        guard blob.count > 4, size <= blob.count - 4, size % 4 == 0 else {
            throw .invalid(
                field: "tokenizer.ggml.precompiled_charsmap",
                reason: "expected a compiled map that starts with a trie of \(size) bytes, found \(blob.count) bytes.")
        }
        units = stride(from: 4, to: 4 + size, by: 4).map { Self.word(blob, $0) }
        replacements = Array(blob[(4 + size)...])
        try checkGrowth()
    }

    /// Maximum bytes that one byte of text may become. In real maps, at most 3 bytes become 33.
    private static let growth = 16

    /// Rejects maps that expand a short text to a long one. Traverses the trie breadth first, so that each unit is
    /// reached once, by the shortest text that leads there, even if the units are malformed.
    private func checkGrowth() throws(TokenizerError) {
        guard let root = unit(0) else { return }
        // Length of the replacement that begins at each byte, computed in one pass from the end.
        var lengths = [Int32](repeating: 0, count: replacements.count)
        for start in replacements.indices.reversed() where replacements[start] != 0 {
            lengths[start] = 1 + (start + 1 < lengths.count ? lengths[start + 1] : 0)
        }
        let longest = Int(lengths.max() ?? 0)
        var isReached = [Bool](repeating: false, count: units.count)
        var level = [Self.offset(root)]
        var length = 0
        // Longer texts are allowed any replacement.
        while !level.isEmpty, Self.growth * (length + 1) < longest {
            length += 1
            var next: [UInt32] = []
            for node in level {
                for byte in 1...255 as ClosedRange<UInt32> {
                    let index = node ^ byte
                    guard let unit = unit(index), unit & 0x8000_00FF == byte, !isReached[Int(index)] else { continue }
                    isReached[Int(index)] = true
                    let child = index ^ Self.offset(unit)
                    next.append(child)
                    guard unit >> 8 & 1 == 1, let value = self.unit(child) else { continue }
                    let start = Int(value & 0x7FFF_FFFF)
                    guard start < lengths.count, lengths[start] > Self.growth * length else { continue }
                    throw .invalid(
                        field: "tokenizer.ggml.precompiled_charsmap",
                        reason:
                            "replaces \(length) bytes by \(lengths[start]); at most \(Self.growth) for each byte are allowed."
                    )
                }
            }
            level = next
        }
    }

    private static func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << UInt32(8 * $1) }
    }

    func replacement(for text: Slice<UnsafeBufferPointer<UInt8>>) -> (length: Int, ArraySlice<UInt8>)? {
        guard let root = unit(0) else { return nil }
        var node = Self.offset(root)
        var found: (length: Int, start: Int)?
        var length = 0
        for byte in text {
            guard byte != 0 else { break }
            node ^= UInt32(byte)
            guard let unit = unit(node), unit & 0x8000_00FF == UInt32(byte) else { break }
            length += 1
            node ^= Self.offset(unit)
            if unit >> 8 & 1 == 1, let value = self.unit(node) { found = (length, Int(value & 0x7FFF_FFFF)) }
        }
        guard let found, found.start < replacements.count,
            let end = replacements[found.start...].firstIndex(of: 0)
        else { return nil }
        return (found.length, replacements[found.start..<end])
    }

    private func unit(_ index: UInt32) -> UInt32? { index < units.count ? units[Int(index)] : nil }

    private static func offset(_ unit: UInt32) -> UInt32 { (unit >> 10) << ((unit & (1 << 9)) >> 6) }
}
