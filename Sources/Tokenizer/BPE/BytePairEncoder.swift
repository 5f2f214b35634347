/// Byte-level BPE, and its character-level variant (Gemma 4).
struct BytePairEncoder: Sendable {
    private let rules: BytePairRules
    private let preTokenizer: PreTokenizer
    private let ignoresMerges: Bool
    private let isCharacterLevel: Bool
    private let escapesSpaces: Bool
    private let takesLineEndsWhole: Bool
    private let splitsAtSpaces: Bool
    /// Symbol of each single byte, -1 for none; used by byte-level BPE.
    private let byteSymbols: [Int32]
    /// Tokens for single bytes without another token, -1 for none.
    private let byteTokens: [Int32]
    private let tokenCount: Int32
    private let unknown: Int32?

    init(
        _ description: TokenizerDescription, _ family: PreTokenizerFamily, unknown: Int32?
    ) throws(TokenizerError) {
        let rules = try BytePairRules(
            description.merges ?? [], tokens: description.tokens, isByteLevel: !family.isCharacterLevel)
        self.rules = rules
        preTokenizer = PreTokenizer(passes: family.passes)
        ignoresMerges = description.rules?.ignoresMerges ?? family.ignoresMerges
        splitsAtSpaces = description.rules?.splitsAtSpaces == true
        escapesSpaces = family.isCharacterLevel && description.rules == nil
        isCharacterLevel = family.isCharacterLevel
        takesLineEndsWhole = family.takesLineEndsWhole
        tokenCount = Int32(description.tokens.count)
        byteSymbols = (UInt8.min...UInt8.max).map { byte in
            withUnsafeBytes(of: byte) { rules.symbol($0.assumingMemoryBound(to: UInt8.self)) ?? -1 }
        }
        byteTokens = (UInt8.min...UInt8.max).map { byte in
            let spelling = family.isCharacterLevel ? byteTokenText(byte) : [byte]
            return spelling.withUnsafeBufferPointer { rules.index.find($0) ?? -1 }
        }
        self.unknown = unknown
    }

    func encode(_ bytes: UnsafeBufferPointer<UInt8>, into ids: inout [Int32]) {
        guard escapesSpaces else { return encodePieces(bytes, into: &ids) }
        let escaped = escapingSpaces(bytes)
        escaped.withUnsafeBufferPointer { encodePieces($0, into: &ids) }
    }

    private func encodePieces(_ bytes: UnsafeBufferPointer<UInt8>, into ids: inout [Int32]) {
        var ends = ClassifiedText.withClasses(of: bytes) { preTokenizer.split($0) }
        if splitsAtSpaces {
            ends += spaceStarts(bytes)
            ends.sort()
        } else if isCharacterLevel, !rules.joinsWords {
            ends += wordEnds(bytes)
            ends.sort()
        }
        var merger = Merger(rules)
        var seen = RecentPieces(pieces: ends.count)
        var start = 0
        for end in ends where end > start {
            let piece = UnsafeBufferPointer(rebasing: bytes[start..<end])
            let key = TokenIndex.key(piece)
            if !seen.append(bytes, start..<end, hash: key.hash, to: &ids) {
                let firstID = ids.count
                encode(piece, key, &merger, into: &ids)
                seen.remember(start..<end, hash: key.hash, ids: firstID..<ids.count)
            }
            start = end
        }
    }

    private func encode(
        _ piece: UnsafeBufferPointer<UInt8>, _ key: TokenIndex.Key, _ merger: inout Merger<BytePairRules>,
        into ids: inout [Int32]
    ) {
        if ignoresMerges || piece.count == 1 || (takesLineEndsWhole && piece.allSatisfy { $0 == 0x0A }),
            piece.count <= rules.index.maxLength, let id = rules.index.find(piece, key)
        {
            ids.append(id)
            return
        }
        merger.symbols.removeAll(keepingCapacity: true)
        merger.symbols.reserveCapacity(piece.count)
        var position = 0
        while position < piece.count {
            if isCharacterLevel {
                let length = decodeScalar(piece, at: position).length
                let character = UnsafeBufferPointer(rebasing: piece[position..<position + length])
                merger.symbols.append(TextSymbol(id: rules.symbol(character) ?? -1, start: position))
                position += length
            } else {
                merger.symbols.append(TextSymbol(id: byteSymbols[Int(piece[position])], start: position))
                position += 1
            }
        }
        merger.run(piece, end: piece.count)
        for i in merger.symbols.indices {
            let symbol = merger.symbols[i]
            if symbol.id >= 0, symbol.id < tokenCount {
                ids.append(symbol.id)
            } else {
                let end = i + 1 < merger.symbols.count ? merger.symbols[i + 1].start : piece.count
                appendBytes(piece[symbol.start..<end], to: &ids)
            }
        }
    }

    private func appendBytes(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, to ids: inout [Int32]) {
        for byte in bytes {
            if byteTokens[Int(byte)] >= 0 {
                ids.append(byteTokens[Int(byte)])
            } else if let unknown {
                ids.append(unknown)
            }
        }
    }
}
