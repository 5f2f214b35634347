/// The merge list of a BPE vocabulary, over token IDs.
///
/// Merges may produce strings that are not tokens. Such strings have numbers above the vocabulary's; if one remains in
/// the end, it is replaced by the tokens of its bytes.
struct BytePairRules: MergeRules {
    /// Finds tokens by their bytes or, in a character-level family, by the token's text.
    let index: TokenIndex
    private var merges: MergeTable
    /// Strings that occur in merges but are not tokens.
    private var others: [[UInt8]: Int32] = [:]
    private let tokenCount: Int32
    /// Whether a merge joins a space to preceding text. If not, words can be encoded separately.
    private(set) var joinsWords = false

    /// - Parameter isByteLevel: Whether tokens and merges are written in the byte alphabet. A token with a character
    ///   outside of the alphabet cannot be matched by text.
    init(_ list: [[UInt8]], tokens: [[UInt8]], isByteLevel: Bool) throws(TokenizerError) {
        guard list.count < UInt32.max else {
            throw .invalid(
                field: "tokenizer.ggml.merges", reason: "expected at most 2^32 - 2 merges, found \(list.count).")
        }
        var spellings = ByteStrings(capacity: tokens.count)
        var spelled: [UInt8] = []
        for token in tokens {
            spelled.removeAll(keepingCapacity: true)
            _ = Self.append(token[...], isByteLevel, to: &spelled)
            spellings.append(spelled)
        }
        index = TokenIndex(spellings)
        merges = MergeTable(capacity: list.count)
        tokenCount = Int32(tokens.count)
        var merged: Int32 = 0
        for (rank, line) in list.enumerated() {
            // The separator is not the first byte, which may itself be a space.
            guard line.count > 2, let space = line[1...].firstIndex(of: UInt8(ascii: " ")) else { continue }
            spelled.removeAll(keepingCapacity: true)
            guard Self.append(line[..<space], isByteLevel, to: &spelled) else { continue }
            let middle = spelled.count
            guard Self.append(line[(space + 1)...], isByteLevel, to: &spelled), 0 < middle, middle < spelled.count
            else { continue }
            let left = number(of: spelled[..<middle])
            let right = number(of: spelled[middle...])
            // Merges are in the order of the tokens they produce, so this is mostly the last token or the next one.
            if !index.isFound(merged, by: spelled) {
                merged = index.isFound(merged + 1, by: spelled) ? merged + 1 : number(of: spelled[...])
            }
            if !isByteLevel, !joinsWords { joinsWords = spelled.withUnsafeBufferPointer { !wordEnds($0).isEmpty } }
            merges.add(left, right, Merge(rank: UInt32(rank), symbol: merged))
        }
    }

    private static func append(_ text: ArraySlice<UInt8>, _ isByteLevel: Bool, to bytes: inout [UInt8]) -> Bool {
        if isByteLevel { return ByteAlphabet.decode(text, into: &bytes) }
        bytes += text
        return true
    }

    private mutating func number(of bytes: ArraySlice<UInt8>) -> Int32 {
        if let known = bytes.withUnsafeBufferPointer({ symbol($0) }) { return known }
        let number = tokenCount + Int32(others.count)
        others[Array(bytes)] = number
        return number
    }

    /// Number of a string; `nil` if neither a merge nor a token has it.
    func symbol(_ bytes: UnsafeBufferPointer<UInt8>) -> Int32? {
        index.find(bytes) ?? (others.isEmpty ? nil : others[Array(bytes)])
    }

    @inline(__always)
    func merge(_ left: Int32, _ right: Int32, bytes: Range<Int>, of text: UnsafeBufferPointer<UInt8>) -> Merge? {
        merges.find(left, right)
    }
}
