/// A cache of pieces of the current text that were encoded before, since most words of a text repeat.
///
/// A hash table without chaining; it refers to the IDs of the earlier occurrence in the output. So it holds no strings,
/// and at most 8192 entries.
struct RecentPieces {
    private struct Entry {
        var hash: UInt64 = 0
        var piece = 0..<0
        var ids = 0..<0
    }

    private var entries: [Entry]

    init(pieces: Int) {
        var size = 16
        while size < min(pieces, 8192) { size *= 2 }
        entries = Array(repeating: Entry(), count: size)
    }

    /// Appends the IDs of `piece` if it is cached.
    func append(_ bytes: UnsafeBufferPointer<UInt8>, _ piece: Range<Int>, hash: UInt64, to ids: inout [Int32]) -> Bool {
        let entry = entries[Int(truncatingIfNeeded: hash) & (entries.count - 1)]
        guard entry.hash == hash, entry.piece.count == piece.count, !entry.ids.isEmpty else { return false }
        for i in 0..<piece.count where bytes[entry.piece.lowerBound + i] != bytes[piece.lowerBound + i] { return false }
        for i in entry.ids { ids.append(ids[i]) }
        return true
    }

    mutating func remember(_ piece: Range<Int>, hash: UInt64, ids: Range<Int>) {
        entries[Int(truncatingIfNeeded: hash) & (entries.count - 1)] = Entry(hash: hash, piece: piece, ids: ids)
    }
}
