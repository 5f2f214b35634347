/// A position for a value: the schemas that apply to it, and the requirement on their results.
final class Position {
    let id: Int32
    let slots: [SchemaNode.ID]
    let requirement: Requirements.ID
    let closure: Closure
    /// Types that can satisfy it, judged without looking into the value.
    var types: TypeSet = []
    /// Results for `null`, `false` and `true`; `nil` if rejected.
    var literals: [Bits?] = [nil, nil, nil]
    /// Results for integers and other numbers, if only that distinction matters.
    var numbers: (integer: Bits?, fraction: Bits?) = (nil, nil)
    /// Whether the value of a number matters.
    var tracksNumbers = false
    /// Whether numbers are written as digits only, in canonical notation.
    var writesIntegers = false
    /// Bounds and enumerated numbers of the schemas; between two neighbours, all numbers satisfy the same bounds.
    var limits: [Decimal] = []
    /// Values of `multipleOf`.
    var steps: [Decimal] = []
    /// Maximum length of a number.
    var digits = DigitLimits()
    /// By the exponent of a digit after the point, the ranges of numbers that may satisfy the position.
    var bounds: [Int: [NumberRange]] = [:]
    var text: TextContext?
    var objectStart: Int32 = -1
    var arrayStart: Int32 = -1

    init(id: Int32, slots: [SchemaNode.ID], requirement: Requirements.ID, closure: Closure) {
        self.id = id
        self.slots = slots
        self.requirement = requirement
        self.closure = closure
    }
}

/// How a string is read at a position.
final class TextContext {
    let live: LiveAutomaton
    let automaton: StringAutomaton
    /// Whether every character is accepted.
    let isFree: Bool
    /// Index in the automaton of each atom of the plan.
    let places: [Int: Int]
    /// Character counts at which the bound of a schema begins to be met or violated, ascending.
    let cuts: [Int]
    /// Whether the length of the string matters, so that characters are counted.
    let counts: Bool
    /// Maximum characters with which the position can be satisfied.
    var longest = Int.max
    var results: [UInt64: Int32] = [:]

    init(_ live: LiveAutomaton, places: [Int: Int], cuts: [Int]) {
        self.live = live
        automaton = live.automaton
        isFree = automaton.atoms.isEmpty
        self.places = places
        self.cuts = cuts
        counts = !cuts.isEmpty
    }

    /// Number of cuts that are at most `count`.
    func level(_ count: Int) -> Int {
        var level = 0
        while level < cuts.count, cuts[level] <= count { level += 1 }
        return level
    }
}

/// Numbers from `low` to `high`; `nil`: unbounded.
struct NumberRange {
    var low: Decimal?
    var high: Decimal?
}
