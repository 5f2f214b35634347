/// A place for a value: the schemas that apply to it, and what their results have to be.
final class Position {
    let id: Int32
    let slots: [SchemaNode.ID]
    let requirement: Requirements.ID
    let closure: Closure
    /// Types with which it can be satisfied, as far as one can say without looking into the value.
    var types: TypeSet = []
    /// Results for `null`, `false` and `true`; `nil` if that is refused.
    var literals: [Bits?] = [nil, nil, nil]
    /// Results for integers and other numbers where only that matters.
    var numbers: (integer: Bits?, fraction: Bits?) = (nil, nil)
    /// Whether the value of a number matters.
    var tracksNumbers = false
    /// In canonical spelling: whether numbers are written as digits only.
    var writesIntegers = false
    lazy var bounds: [NumberRange] = []
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

/// How a string is read at a position, and when it may end.
final class TextContext {
    let live: LiveAutomaton
    let automaton: StringAutomaton
    /// Whether every character is admitted.
    let isFree: Bool
    /// Place in the automaton of each atom of the plan.
    let places: [Int: Int]
    /// Character counts at which a bound of some schema begins to be met or broken, in order.
    let cuts: [Int]
    /// Whether the length of the string makes a difference, so that its characters are counted.
    let counts: Bool
    /// Most characters with which the position can be satisfied.
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

    /// Number of cuts that `count` characters reach.
    func level(_ count: Int) -> Int {
        var level = 0
        while level < cuts.count, cuts[level] <= count { level += 1 }
        return level
    }
}

/// Numbers from `low` to `high`; without a bound where that is `nil`.
struct NumberRange {
    var low: Decimal?
    var high: Decimal?
}
