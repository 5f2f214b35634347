/// Validates UTF-8 byte by byte.
enum UTF8State {
    static let refused: UInt8 = 255

    /// States: 0 between characters; 1, 2, 3: that many continuation bytes follow; 4 to 7: the range of the next one is
    /// restricted (after E0, ED, F0, F4).
    @inline(__always)
    static func step(_ state: UInt8, _ byte: UInt8) -> UInt8 {
        switch state {
        case 0:
            switch byte {
            case 0..<0x80: return 0
            case 0xc2...0xdf: return 1
            case 0xe0: return 4
            case 0xed: return 5
            case 0xe1...0xef: return 2
            case 0xf0: return 6
            case 0xf1...0xf3: return 3
            case 0xf4: return 7
            default: return refused
            }
        case 1: return byte & 0xc0 == 0x80 ? 0 : refused
        case 2: return byte & 0xc0 == 0x80 ? 1 : refused
        case 3: return byte & 0xc0 == 0x80 ? 2 : refused
        case 4: return (0xa0...0xbf).contains(byte) ? 1 : refused
        case 5: return (0x80...0x9f).contains(byte) ? 1 : refused
        case 6: return (0x90...0xbf).contains(byte) ? 2 : refused
        case 7: return (0x80...0x8f).contains(byte) ? 2 : refused
        default: return refused
        }
    }
}
