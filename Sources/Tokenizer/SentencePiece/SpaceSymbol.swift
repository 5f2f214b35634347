/// "▁" (U+2581), which represents the space in vocabularies without the byte alphabet.
let spaceSymbol: [UInt8] = [0xE2, 0x96, 0x81]

/// - Parameter prefix: Whether to prepend a space.
func escapingSpaces(_ bytes: UnsafeBufferPointer<UInt8>, prefix: Bool = false) -> [UInt8] {
    var escaped = prefix ? spaceSymbol : []
    escaped.reserveCapacity(bytes.count + bytes.count / 2)
    for byte in bytes {
        if byte == UInt8(ascii: " ") { escaped += spaceSymbol } else { escaped.append(byte) }
    }
    return escaped
}

func unescapeSpaces(_ text: [UInt8], into result: inout [UInt8]) {
    var position = 0
    while position < text.count {
        if text[position...].starts(with: spaceSymbol) {
            result.append(UInt8(ascii: " "))
            position += spaceSymbol.count
        } else {
            result.append(text[position])
            position += 1
        }
    }
}

/// Positions of "▁" that do not follow another "▁".
func wordEnds(_ text: UnsafeBufferPointer<UInt8>) -> [Int] {
    var ends: [Int] = []
    var wordStart = true
    var position = 0
    while position < text.count {
        let isSpace = text[position] == spaceSymbol[0] && text[position...].starts(with: spaceSymbol)
        if isSpace, !wordStart { ends.append(position) }
        wordStart = isSpace
        position += isSpace ? spaceSymbol.count : 1
    }
    return ends
}

/// Positions of all "▁".
func spaceStarts(_ text: UnsafeBufferPointer<UInt8>) -> [Int] {
    text.indices.filter { text[$0] == spaceSymbol[0] && text[$0...].starts(with: spaceSymbol) }
}

/// The text of the token that stands for one byte: `<0x0A>`.
func byteTokenText(_ byte: UInt8) -> [UInt8] {
    let digits = Array("0123456789ABCDEF".utf8)
    return [0x3C, 0x30, 0x78, digits[Int(byte >> 4)], digits[Int(byte & 15)], 0x3E]
}
