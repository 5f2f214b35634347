/// Finds special tokens in text.
///
/// Longer tokens take precedence anywhere in the text; among overlapping tokens of equal length, the lower ID, then the
/// leftmost. This equals llama.cpp's search token by token, but takes one pass over the text: a trie gives the longest
/// token at each position, and a token that overlaps an earlier choice is replaced by a shorter one.
struct SpecialTokens: Sendable {
    enum Fragment: Equatable {
        case text(Range<Int>)
        case token(Int32)
    }

    typealias Match = (range: Range<Int>, id: Int32)

    private struct Candidate {
        var start: Int
        var id: Int32
    }

    /// Tokens that are parsed in any case.
    private var always = ByteTrie()
    private var onRequest = ByteTrie()
    private var spaceTakers: [Int32: TokenKind] = [:]

    init(_ tokens: [[UInt8]], _ kinds: [TokenKind]) throws(TokenizerError) {
        for (id, kind) in kinds.enumerated() where kind.isSpecial && !tokens[id].isEmpty {
            try onRequest.insert(tokens[id], value: Int32(id))
            if !kind.isParsedOnRequest { try always.insert(tokens[id], value: Int32(id)) }
            let taking = kind.intersection([.takesSpaceBefore, .takesSpaceAfter])
            if !taking.isEmpty { spaceTakers[Int32(id)] = taking }
        }
    }

    func fragments(of bytes: UnsafeBufferPointer<UInt8>, parseSpecial: Bool) -> [Fragment] {
        guard !bytes.isEmpty else { return [] }
        let (chosen, taken) = choose(bytes, parseSpecial: parseSpecial)
        return chosen.isEmpty ? [.text(0..<bytes.count)] : fragments(chosen, taken)
    }

    /// The special tokens in a text, in order.
    func matches(in bytes: UnsafeBufferPointer<UInt8>, parseSpecial: Bool) -> [Match] {
        choose(bytes, parseSpecial: parseSpecial).matches
    }

    /// - Returns: The matches, and the bytes they cover with absorbed white space; empty without matches.
    private func choose(
        _ bytes: UnsafeBufferPointer<UInt8>, parseSpecial: Bool
    ) -> (matches: [Match], taken: [Bool]) {
        let trie = parseSpecial ? onRequest : always
        var candidates = longestMatches(bytes, trie)
        guard !candidates.isEmpty else { return ([], []) }

        var taken = [Bool](repeating: false, count: bytes.count)
        var chosen: [Match] = []
        for length in candidates.indices.reversed() {
            for candidate in candidates[length].sorted(by: { ($0.id, $0.start) < ($1.id, $1.start) }) {
                let range = candidate.start..<candidate.start + length
                guard let obstacle = range.first(where: { taken[$0] }) else {
                    chosen.append((range, candidate.id))
                    take(range, candidate.id, bytes, &taken)
                    continue
                }
                if let shorter = trie.longestPrefix(of: bytes[candidate.start..<obstacle]) {
                    candidates[shorter.length].append(Candidate(start: candidate.start, id: shorter.value))
                }
            }
            candidates[length] = []
        }
        return (chosen.sorted { $0.range.lowerBound < $1.range.lowerBound }, taken)
    }

    /// The longest token that begins at each position, grouped by length.
    private func longestMatches(_ bytes: UnsafeBufferPointer<UInt8>, _ trie: ByteTrie) -> [[Candidate]] {
        guard !trie.isEmpty else { return [] }
        let begins = (UInt8.min...UInt8.max).map { trie.child(of: ByteTrie.root, $0) != nil }
        var result: [[Candidate]] = []
        for start in bytes.indices where begins[Int(bytes[start])] {
            guard let match = trie.longestPrefix(of: bytes[start...]) else { continue }
            while result.count <= match.length { result.append([]) }
            result[match.length].append(Candidate(start: start, id: match.value))
        }
        return result
    }

    /// Marks the bytes of a token and the white space it absorbs, up to the next token.
    private func take(
        _ range: Range<Int>, _ id: Int32, _ bytes: UnsafeBufferPointer<UInt8>, _ taken: inout [Bool]
    ) {
        for i in range { taken[i] = true }
        guard let taking = spaceTakers[id] else { return }
        func isFreeSpace(_ i: Int) -> Bool { !taken[i] && (bytes[i] == 0x20 || (0x09...0x0D).contains(bytes[i])) }
        var after = range.upperBound
        while taking.contains(.takesSpaceAfter), after < bytes.count, isFreeSpace(after) {
            taken[after] = true
            after += 1
        }
        var before = range.lowerBound - 1
        while taking.contains(.takesSpaceBefore), before >= 0, isFreeSpace(before) {
            taken[before] = true
            before -= 1
        }
    }

    private func fragments(_ chosen: [Match], _ taken: [Bool]) -> [Fragment] {
        var result: [Fragment] = []
        var position = 0
        func text(upTo end: Int) {
            var (start, stop) = (position, end)
            while start < stop, taken[start] { start += 1 }
            while start < stop, taken[stop - 1] { stop -= 1 }
            if start < stop { result.append(.text(start..<stop)) }
        }
        for (range, id) in chosen {
            text(upTo: range.lowerBound)
            result.append(.token(id))
            position = range.upperBound
        }
        text(upTo: taken.count)
        return result
    }
}
