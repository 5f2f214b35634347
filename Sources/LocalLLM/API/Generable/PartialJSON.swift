/// The beginning of a JSON text, completed to JSON: open strings, arrays and objects are closed, and what is too short to be
/// a value yet (a key alone, half a number or literal) is left out.
struct PartialJSON {
    /// The text itself where it is whole. Text that begins no JSON comes out as something that is no JSON either.
    let completed: String
    /// Containers that were closed, and one more for an open string; `nil` where the text is whole.
    let openLevels: Int?

    init(_ text: String) {
        var scanner = Scanner(bytes: Array(text.utf8))
        scanner.scan()
        completed = scanner.completed
        openLevels = scanner.openLevels
    }
}

extension PartialJSON {
    /// Reads over the text once and remembers the last place at which it could be completed.
    private struct Scanner {
        let bytes: [UInt8]
        private var position = 0
        /// The closing bracket of each container that is open.
        private var closers: [UInt8] = []
        /// Where the text can be cut, and what closes it then.
        private var cut = 0
        private var cutClosers: [UInt8] = []
        private var endsInString = false
        private var isWhole = false

        init(bytes: [UInt8]) { self.bytes = bytes }

        var completed: String {
            if isWhole { return String(decoding: bytes, as: UTF8.self) }
            let quote: [UInt8] = endsInString ? [UInt8(ascii: "\"")] : []
            // Before the first value there is nothing to show.
            let head = cut == 0 && !endsInString ? Array("null".utf8) : Array(bytes[..<cut])
            return String(decoding: head + quote + cutClosers.reversed(), as: UTF8.self)
        }

        var openLevels: Int? { isWhole ? nil : max(1, cutClosers.count + (endsInString ? 1 : 0)) }

        mutating func scan() {
            /// Whether the next string is a key.
            var expectsKey = false
            while position < bytes.count {
                switch bytes[position] {
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    let isObject = bytes[position] == UInt8(ascii: "{")
                    closers.append(UInt8(ascii: isObject ? "}" : "]"))
                    expectsKey = isObject
                    position += 1
                    mark()
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if !closers.isEmpty { closers.removeLast() }
                    position += 1
                    mark()
                case UInt8(ascii: ","):
                    // Without a value before it, the text is left as it is, which is no JSON.
                    guard cut > 0, bytes[cut - 1] != UInt8(ascii: "["), bytes[cut - 1] != UInt8(ascii: "{") else {
                        isWhole = true
                        return
                    }
                    expectsKey = closers.last == UInt8(ascii: "}")
                    position += 1
                case UInt8(ascii: ":"):
                    expectsKey = false
                    position += 1
                case UInt8(ascii: "\""):
                    let isKey = expectsKey
                    expectsKey = false
                    guard string(isKey: isKey) else { return }
                    if !isKey { mark() }
                case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"):
                    position += 1
                default:
                    guard word() else { return }
                    mark()
                }
            }
            isWhole = closers.isEmpty && cut > 0 && bytes[cut...].allSatisfy { $0 <= UInt8(ascii: " ") }
        }

        /// The text can be cut here.
        private mutating func mark() {
            cut = position
            cutClosers = closers
        }

        /// - Returns: Whether the string's end was there. If not, the text can be cut after the last whole character of a value.
        private mutating func string(isKey: Bool) -> Bool {
            position += 1
            while position < bytes.count {
                switch bytes[position] {
                case UInt8(ascii: "\""):
                    position += 1
                    return true
                case UInt8(ascii: "\\"):
                    let length = position + 1 < bytes.count && bytes[position + 1] == UInt8(ascii: "u") ? 6 : 2
                    guard position + length <= bytes.count else { return cutString(isKey: isKey) }
                    // Half of a surrogate pair is no character.
                    if length == 6, isHighSurrogate(at: position + 2) {
                        guard position + 12 <= bytes.count else { return cutString(isKey: isKey) }
                        position += 12
                    } else {
                        position += length
                    }
                default: position += 1
                }
            }
            position = bytes.count
            return cutString(isKey: isKey)
        }

        private mutating func cutString(isKey: Bool) -> Bool {
            if !isKey {
                mark()
                endsInString = true
            }
            position = bytes.count
            return false
        }

        private func isHighSurrogate(at index: Int) -> Bool {
            (bytes[index] | 0x20) == UInt8(ascii: "d")
                && [UInt8(ascii: "8"), UInt8(ascii: "9"), UInt8(ascii: "a"), UInt8(ascii: "b")]
                    .contains(bytes[index + 1] | 0x20)
        }

        /// A number or a literal. At the end of the text it may go on, unless it is a whole literal.
        private mutating func word() -> Bool {
            let start = position
            while position < bytes.count, !",]}:\" \n\r\t".utf8.contains(bytes[position]) { position += 1 }
            let word = String(decoding: bytes[start..<position], as: UTF8.self)
            // At the top level a number is whole when the text is.
            return position < bytes.count || closers.isEmpty || ["true", "false", "null"].contains(word)
        }
    }
}
