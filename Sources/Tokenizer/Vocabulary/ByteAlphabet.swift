/// The alphabet of byte-level BPE vocabularies: each byte is one printable character, so that token texts are readable
/// UTF-8.
///
/// Bytes that are printable in Latin-1 represent themselves; the other 68 are U+0100 onwards, in order
/// (`bytes_to_unicode` in GPT-2's `encoder.py`). A space is written "Ġ".
enum ByteAlphabet {
    /// The byte of each scalar below U+0144, or -1.
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

    /// Appends the bytes that `text` represents.
    ///
    /// - Returns: `false`, with `result` unchanged, if `text` has a character outside of the alphabet.
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
