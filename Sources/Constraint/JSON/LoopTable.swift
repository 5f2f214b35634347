/// The kinds of content that leave an automaton's state unchanged, by state. A walk over the vocabulary takes whole
/// subtrees of tokens that consist of these.
struct LoopTable {
    /// `others`, which is part of no loop, marks entries that are not computed yet.
    private var known: [ContentKinds] = []

    /// - Parameters:
    ///   - state: Must be between two characters.
    ///   - step: Returns the next state; negative if the byte is rejected.
    @inline(__always)
    mutating func kinds(_ state: Int32, step: (Int32, UInt8) -> Int32) -> ContentKinds {
        let index = Int(state)
        if index < known.count, known[index] != .others { return known[index] }
        return make(state, step)
    }

    @inline(never)
    private mutating func make(_ state: Int32, _ step: (Int32, UInt8) -> Int32) -> ContentKinds {
        var kinds = ContentKinds.ofASCII { step(state, $0) == state }
        if Self.takesCharacters(state, step) { kinds.insert(.characters) }
        while known.count <= Int(state) { known.append(.others) }
        known[Int(state)] = kinds
        return kinds
    }

    /// Whether every character beyond ASCII leads back to the state.
    private static func takesCharacters(_ state: Int32, _ step: (Int32, UInt8) -> Int32) -> Bool {
        var (pending, seen) = ([(state: state, utf8: UInt8(0))], Set<Int32>())
        while let (current, utf8) = pending.popLast() {
            for byte in UInt8(0x80)...0xff {
                let rest = UTF8State.step(utf8, byte)
                if rest == UTF8State.refused { continue }
                let next = step(current, byte)
                if next < 0 || (rest == 0 && next != state) { return false }
                if rest != 0, seen.insert(next).inserted { pending.append((next, rest)) }
            }
        }
        return true
    }
}
