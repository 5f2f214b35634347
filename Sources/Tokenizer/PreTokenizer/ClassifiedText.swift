/// Text with the class of each scalar, read by all passes of a pre-tokenizer.
///
/// Positions are bytes. The class of a scalar is stored at its first byte; its other bytes have the empty class.
/// Invalid UTF-8 counts as one scalar U+FFFD per byte.
struct ClassifiedText {
    let bytes: UnsafeBufferPointer<UInt8>
    let classes: UnsafeBufferPointer<CharacterClass>

    /// The position after the scalar at `position`.
    @inline(__always)
    func next(_ position: Int) -> Int {
        var next = position + 1
        while next < classes.count, classes[next].isEmpty { next += 1 }
        return next
    }

    /// The scalar at `position`.
    func scalar(_ position: Int) -> UInt32 {
        let (scalar, _) = decodeScalar(bytes, at: position)
        return scalar ?? 0xFFFD
    }

    static func withClasses<R>(of bytes: UnsafeBufferPointer<UInt8>, _ body: (ClassifiedText) -> R) -> R {
        let table = CharacterTable.unicode
        let ascii = (0..<UInt32(128)).map { table[$0] }
        let classes = [CharacterClass](unsafeUninitializedCapacity: bytes.count) { classes, count in
            count = bytes.count
            var i = 0
            while i < bytes.count {
                if bytes[i] < 0x80 {
                    classes[i] = ascii[Int(bytes[i])]
                    i += 1
                    continue
                }
                let (scalar, length) = decodeScalar(bytes, at: i)
                classes[i] = table[scalar ?? 0xFFFD]
                for k in i + 1..<i + length { classes[k] = [] }
                i += length
            }
        }
        return classes.withUnsafeBufferPointer { body(ClassifiedText(bytes: bytes, classes: $0)) }
    }
}

/// The scalar at `position` and its length in bytes; `nil` and 1 if no valid UTF-8 sequence begins there.
func decodeScalar(_ bytes: UnsafeBufferPointer<UInt8>, at position: Int) -> (scalar: UInt32?, length: Int) {
    let lead = bytes[position]
    let length: Int
    // The range of the first continuation byte excludes overlong forms, surrogates and scalars above U+10FFFF (The
    // Unicode Standard, table 3-7).
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch lead {
    case 0..<0x80: return (UInt32(lead), 1)
    case 0xC2...0xDF: length = 2
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: length = 3
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    case 0xF1...0xF3: length = 4
    default: return (nil, 1)
    }
    guard length <= bytes.count - position, second.contains(bytes[position + 1]) else { return (nil, 1) }
    var scalar = UInt32(lead & (0x7F >> UInt8(length)))
    for k in 1..<length {
        let unit = bytes[position + k]
        guard unit & 0xC0 == 0x80 else { return (nil, 1) }
        scalar = scalar << 6 | UInt32(unit & 0x3F)
    }
    return (scalar, length)
}
