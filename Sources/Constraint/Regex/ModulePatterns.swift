/// Matches names of modules against the patterns of an untrusted file, as PEFT does:
/// `re.match(rf"(.*\.)?({pattern})$", name)`.
///
/// The time is linear in the length of a name, and bounded for all names together.
package final class ModulePatterns {
    private let terms: RegexTerms
    private var compiled: [String: RegexTerms.ID] = [:]
    /// Matches that may still be tried.
    private var matchesLeft: Int

    /// - Parameter steps: Budget of all matches together, of about 50 ns each; also their number.
    package init(steps: Int = 5_000_000) {
        terms = RegexTerms(steps: steps)
        matchesLeft = steps
    }

    /// - Throws: `ConstraintError` for a pattern that is invalid or not supported, and of kind `budget`.
    package func match(_ pattern: String, _ name: String) throws(ConstraintError) -> Bool {
        matchesLeft -= 1
        guard matchesLeft >= 0 else { throw exhausted(pattern) }
        let (source, bytes) = (Array(pattern.utf8), Array(name.utf8))
        if source.allSatisfy(Self.isPlain), bytes.allSatisfy({ $0 < 0x80 }) {
            let start = bytes.count - source.count
            guard start == 0 || start > 0 && bytes[start - 1] == UInt8(ascii: ".") else { return false }
            return zip(source, bytes[start...]).allSatisfy { $0 == $1 || $0 == UInt8(ascii: ".") }
        }
        guard let isMatch = terms.matches(try term(pattern), bytes) else { throw exhausted(pattern) }
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

/// A regular expression that is searched for in names, in time linear in their lengths.
package struct NamePattern: Sendable {
    package let source: String
    private let terms: RegexTerms
    private let start: RegexTerms.ID

    /// - Throws: `ConstraintError` for a pattern that is invalid or not supported.
    package init(_ source: String) throws(ConstraintError) {
        self.source = source
        terms = RegexTerms()
        do { start = try RegexParser.search(source, in: terms) } catch {
            throw ConstraintError(.regex, "", error.message)
        }
    }

    /// Whether the name contains a match.
    ///
    /// - Throws: `ConstraintError` of kind `budget`.
    package func isFound(in name: String) throws(ConstraintError) -> Bool {
        guard let isMatch = terms.copy(WorkMeter()).matches(start, Array(name.utf8)) else { throw exhausted(source) }
        return isMatch
    }
}

private func exhausted(_ pattern: String) -> ConstraintError {
    ConstraintError(.budget, "", "matching '\(pattern)' takes more steps than are granted")
}

extension RegexTerms {
    /// Whether a term matches the whole text; `nil`: the steps do not suffice.
    fileprivate func matches(_ term: ID, _ text: [UInt8]) -> Bool? {
        var state = term
        for (index, byte) in text.enumerated() where state != Self.never {
            state = derivative(state, byte, first: index == 0)
        }
        let isMatch = isNullable(state, first: text.isEmpty)
        return isExhausted ? nil : isMatch
    }
}
