// The character classes of RFC 9110 and 9112, on bytes.

func isDigit(_ c: UInt8) -> Bool { (0x30...0x39).contains(c) }

func isAlphanumeric(_ c: UInt8) -> Bool { isDigit(c) || (0x41...0x5a).contains(c & 0xdf) }

func isHexDigit(_ c: UInt8) -> Bool { hexValue(c) != nil }

func hexValue(_ c: UInt8) -> UInt8? {
    switch c {
    case 0x30...0x39: c - 0x30
    case 0x41...0x46: c - 0x41 + 10
    case 0x61...0x66: c - 0x61 + 10
    default: nil
    }
}

/// `tchar`: a character of a method or header name.
func isTokenCharacter(_ c: UInt8) -> Bool {
    isAlphanumeric(c) || "!#$%&'*+-.^_`|~".utf8.contains(c)
}

/// Whether a byte may occur in a header value: visible characters, space, tab, and bytes above 0x7f.
func isValueCharacter(_ c: UInt8) -> Bool { c == 0x09 || (c >= 0x20 && c != 0x7f) }

func isBlank(_ c: UInt8) -> Bool { c == 0x20 || c == 0x09 }

func trimmingBlanks(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var bytes = bytes.drop(while: isBlank)
    while let last = bytes.last, isBlank(last) { bytes.removeLast() }
    return bytes
}
