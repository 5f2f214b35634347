/// The alphabet in which byte-level BPE vocabularies are written: each byte is one printable character, so a token's text
/// is always readable UTF-8.
///
/// Bytes that print in Latin-1 stand for themselves; the other 68 are U+0100 onwards, in order (`bytes_to_unicode` in
/// GPT-2's `encoder.py`). So a space is written "Ġ".
enum ByteAlphabet {
    /// The byte that a scalar below U+0144 stands for, or -1.
    static let bytes: [Int16] = {
        var table = [Int16](repeating: -1, count: 0x144)
        var next = 0x100
        for byte in 0..<256 {
            if (0x21...0x7E).contains(byte) || (0xA1...0xAC).contains(byte) || (0xAE...0xFF).contains(byte) {
                table[byte] = Int16(byte)
            } else {
                table[next] = Int16(byte)
                next += 1
            }
        }
        return table
    }()

    /// Appends the bytes that `text` stands for.
    ///
    /// - Returns: `false`, with `result` as it was, where `text` has a character that is not of the alphabet.
    static func decode(_ text: ArraySlice<UInt8>, into result: inout [UInt8]) -> Bool {
        let start = result.count
        let isDecoded = bytes.withUnsafeBufferPointer { table in
            text.withUnsafeBufferPointer { text in
                var position = 0
                while position < text.count {
                    let (scalar, length) = decodeScalar(text, at: position)
                    guard let scalar, scalar < table.count, table[Int(scalar)] >= 0 else { return false }
                    result.append(UInt8(table[Int(scalar)]))
                    position += length
                }
                return true
            }
        }
        if !isDecoded { result.removeSubrange(start...) }
        return isDecoded
    }
}
