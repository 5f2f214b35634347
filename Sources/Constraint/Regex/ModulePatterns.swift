/// Matches names of modules against the patterns of an untrusted file, as PEFT does:
/// `re.match(rf"(.*\.)?({pattern})$", name)`.
///
/// The time is linear in the length of a name, and bounded for all names together.
package final class ModulePatterns {
    private let terms: RegexTerms
    private var compiled: [String: RegexTerms.ID] = [:]

    /// - Parameter steps: Budget of all matches together, of about 50 ns each.
    package init(steps: Int = 5_000_000) { terms = RegexTerms(steps: steps) }

    /// - Throws: `ConstraintError` for a pattern that is invalid or not supported, and of kind `budget`.
    package func match(_ pattern: String, _ name: String) throws(ConstraintError) -> Bool {
        let (source, bytes) = (Array(pattern.utf8), Array(name.utf8))
        if source.allSatisfy(Self.isPlain), bytes.allSatisfy({ $0 < 0x80 }) {
            let start = bytes.count - source.count
            guard start == 0 || start > 0 && bytes[start - 1] == UInt8(ascii: ".") else { return false }
            return zip(source, bytes[start...]).allSatisfy { $0 == $1 || $0 == UInt8(ascii: ".") }
        }
        var state = try term(pattern)
        for (index, byte) in bytes.enumerated() where state != RegexTerms.never {
            state = terms.derivative(state, byte, first: index == 0)
        }
        let isMatch = terms.isNullable(state, first: bytes.isEmpty)
        guard !terms.isExhausted else {
            throw ConstraintError(.budget, "", "matching '\(pattern)' takes more steps than are granted")
        }
        return isMatch
    }

    /// Whether the byte stands for itself in a pattern; a dot also for any other character.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    private func term(_ pattern: String) throws(ConstraintError) -> RegexTerms.ID {
        if let known = compiled[pattern] { return known }
        do {
            let whole = try RegexParser.parse("(.*\\.)?(\(pattern))$", into: terms)
            let term = terms.concat(whole, RegexTerms.anything)
            compiled[pattern] = term
            return term
        } catch {
            throw ConstraintError(.regex, "", error.message)
        }
    }
}
