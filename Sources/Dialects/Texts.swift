/// Text of templates, compared as bytes.
typealias Bytes = ArraySlice<UInt8>

extension Collection<UInt8> where SubSequence == Bytes, Index == Int {
    func place(of text: String, from start: Int? = nil) -> Int? {
        self[(start ?? startIndex)...].firstRange(of: Array(text.utf8))?.lowerBound
    }

    func contains(_ text: String) -> Bool { place(of: text) != nil }

    var text: String { String(decoding: self, as: UTF8.self) }
}

/// `text` without surrounding white space.
func trimmed(_ text: some Sequence<UInt8>) -> String { String(decoding: trim(Array(text)), as: UTF8.self) }

func leadingSpace(_ text: some Sequence<UInt8>) -> String {
    String(decoding: text.prefix { isSpace($0) }, as: UTF8.self)
}

func trailingSpace(_ text: some BidirectionalCollection<UInt8>) -> String {
    String(decoding: text.reversed().prefix { isSpace($0) }.reversed(), as: UTF8.self)
}

/// The marker texts in a template's text: split at white space and between adjacent tags.
func pieces(_ text: some Sequence<UInt8>) -> [String] {
    var pieces: [[UInt8]] = [[]]
    for byte in text {
        if isSpace(byte) {
            pieces.append([])
            continue
        }
        let last = pieces[pieces.count - 1]
        let isBetweenTags =
            last.last == UInt8(ascii: ">") && byte == UInt8(ascii: "<")
            || last.last == UInt8(ascii: "]") && byte == UInt8(ascii: "[") && last.first == UInt8(ascii: "[")
        if isBetweenTags { pieces.append([]) }
        pieces[pieces.count - 1].append(byte)
    }
    return pieces.filter { !$0.isEmpty }.map { String(decoding: $0, as: UTF8.self) }
}

func commonPrefix<Element: Equatable>(_ left: some Sequence<Element>, _ right: some Sequence<Element>) -> [Element] {
    zip(left, right).prefix { $0 == $1 }.map(\.0)
}

func commonSuffix<Element: Equatable>(_ left: [Element], _ right: [Element]) -> [Element] {
    commonPrefix(left.reversed(), right.reversed()).reversed()
}

/// Length of the longest common prefix of all texts that does not end within a tag.
func commonBeginning(_ texts: [[UInt8]]) -> Int {
    guard var common = texts.first else { return 0 }
    for text in texts.dropFirst() { common = commonPrefix(common, text) }
    if texts.allSatisfy({ $0.count == common.count }) { return common.count }
    let open = common.lastIndex(of: UInt8(ascii: "<"))
    let close = common.lastIndex(of: UInt8(ascii: ">"))
    if let open, open > close ?? -1 { return open }
    return common.count
}

/// The first JSON object or array that contains `text`.
func jsonRange(_ bytes: Bytes, containing text: String, from start: Int) -> Range<Int>? {
    for place in bytes.indices
    where place >= start && (bytes[place] == UInt8(ascii: "{") || bytes[place] == UInt8(ascii: "[")) {
        var scanner = JSONScanner()
        scan: for end in bytes[place...].indices {
            switch scanner.feed(bytes[end]) {
            case .more: continue
            case .invalid, .endedBefore: break scan
            case .ended:
                if bytes[place...end].contains(text) { return place..<(end + 1) }
                break scan
            }
        }
    }
    return nil
}
