/// Finds the source text of a member of a JSON object: decoding would lose the order of its properties and the spelling
/// of its numbers.
enum JSONMember {
    /// - Parameter json: A valid JSON object.
    /// - Returns: The text of the last member with this name in the outermost object.
    static func text(of name: String, in json: [UInt8]) -> String? {
        var scan = Scan(json: json)
        var found: Range<Int>?
        scan.skipSpace()
        guard scan.take(UInt8(ascii: "{")) else { return nil }
        while true {
            scan.skipSpace()
            guard let key = scan.value() else { break }
            scan.skipSpace()
            guard scan.take(UInt8(ascii: ":")) else { break }
            scan.skipSpace()
            guard let value = scan.value() else { break }
            if json[key].elementsEqual("\"\(name)\"".utf8) { found = value }
            scan.skipSpace()
            guard scan.take(UInt8(ascii: ",")) else { break }
        }
        return found.map { String(decoding: json[$0], as: UTF8.self) }
    }

    private struct Scan {
        let json: [UInt8]
        var index = 0

        var next: UInt8? { index < json.count ? json[index] : nil }

        mutating func skipSpace() {
            while let byte = next, [0x20, 0x09, 0x0a, 0x0d].contains(byte) { index += 1 }
        }

        mutating func take(_ byte: UInt8) -> Bool {
            guard next == byte else { return false }
            index += 1
            return true
        }

        /// Skips a value and returns its range; ignores brackets within strings.
        mutating func value() -> Range<Int>? {
            let start = index
            var depth = 0
            while let byte = next {
                switch byte {
                case UInt8(ascii: "\""):
                    index += 1
                    while let inner = next, inner != UInt8(ascii: "\"") { index += inner == UInt8(ascii: "\\") ? 2 : 1 }
                    index += 1
                    if depth == 0 { return start..<min(index, json.count) }
                    continue
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if depth == 0 { return start < index ? start..<index : nil }
                    depth -= 1
                    if depth == 0 {
                        index += 1
                        return start..<index
                    }
                case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0a, 0x0d:
                    if depth == 0 { return start < index ? start..<index : nil }
                default: break
                }
                index += 1
            }
            return start < index ? start..<index : nil
        }
    }
}
