/// Regular expressions over bytes as hash-consed terms, and their derivatives.
///
/// The derivative of a term by a byte is the term for the text that may follow that byte (Brzozowski 1964; Owens,
/// Reppy, Turon 2009). Intersection and complement are terms too, which makes look-ahead possible: `(?!x)` requires
/// that the rest of the text does not begin with `x`. Equal terms have the same number.
///
/// `@unchecked Sendable`: a shared instance is never changed, see `copy()`; others belong to one machine.
final class RegexTerms: @unchecked Sendable {
    typealias ID = Int32

    enum Term: Hashable {
        /// Matches nothing.
        case never
        /// Matches the empty text.
        case empty
        case bytes(ByteSet)
        case concat(ID, ID)
        case either([ID])
        case both([ID])
        case not(ID)
        case star(ID)
        /// `minimum` to `maximum` repetitions; -1: unbounded.
        case counted(ID, minimum: Int32, maximum: Int32)
        /// `^`
        case begin
        /// `$`
        case end
        case ahead(ID, positive: Bool)

        /// Number of terms that it is composed of.
        var parts: Int {
            switch self {
            case .either(let list), .both(let list): list.count
            default: 1
            }
        }
    }

    /// Cached properties of a term.
    private struct Facts {
        /// Term for the rest of the text if this term matches nothing; at the beginning of the text, and below later.
        var skipFirst: ID
        var skipLater: ID
        /// Whether it can match only at the beginning of the text.
        var needsBegin: Bool
    }

    static let never: ID = 0
    static let empty: ID = 1
    /// Any text.
    static let anything: ID = 2

    private(set) var terms: [Term] = []
    private var facts: [Facts] = []
    private var ids: [Term: ID] = [:]
    private var derivatives: [UInt64: ID] = [:]
    /// Set once the terms exceed the budget; every term created later is `never`.
    private(set) var isExhausted = false
    /// A term costs 1, plus 1 for every 8 terms it is composed of, in proportion to the time that it takes to create.
    let budget: Int
    private var spent = 0
    /// Whether characters are written as in JSON strings: some of them as escapes.
    private let isInJSON: Bool
    /// Steps that may still be made: a derivative that is looked up or made, a part that is put together or asked whether it
    /// is nullable. Their number bounds the time, also where few new terms come of them.
    private var stepsLeft: Int

    private let work: WorkMeter

    /// Only the terms that all have; to be copied.
    static let initial = RegexTerms()

    init(_ work: WorkMeter = WorkMeter(), budget: Int = 200_000, steps: Int = 1_000_000, isInJSON: Bool = false) {
        self.work = work
        self.budget = budget
        self.isInJSON = isInJSON
        stepsLeft = steps
        terms = [.never, .empty]
        facts = [
            Facts(skipFirst: Self.never, skipLater: Self.never, needsBegin: false),
            Facts(skipFirst: Self.anything, skipLater: Self.anything, needsBegin: false),
        ]
        ids = [.never: Self.never, .empty: Self.empty]
        terms.append(.empty)  // replaced below: `anything` is a star of all bytes
        facts.append(Facts(skipFirst: Self.anything, skipLater: Self.anything, needsBegin: false))
        let all = intern(.bytes(.all))
        terms[Int(Self.anything)] = .star(all)
        ids[.star(all)] = Self.anything
    }

    private init(copying other: RegexTerms, _ work: WorkMeter) {
        self.work = work
        (terms, facts, ids) = (other.terms, other.facts, other.ids)
        (derivatives, isExhausted, budget) = (other.derivatives, other.isExhausted, other.budget)
        (spent, stepsLeft, isInJSON) = (other.spent, other.stepsLeft, other.isInJSON)
    }

    /// - Parameter work: That of the machine that gets the copy.
    func copy(_ work: WorkMeter) -> RegexTerms { RegexTerms(copying: self, work) }

    /// Roughly what terms and derivatives hold.
    var bytes: Int { spent * 120 + derivatives.count * 32 }

    /// Of how many parts a term is put together.
    func parts(of id: ID) -> Int { terms[Int(id)].parts }

    /// Pays for steps before they are made. - Returns: Whether there were so many left.
    private func pay(_ steps: Int) -> Bool {
        stepsLeft -= steps
        work.spend(steps)
        if stepsLeft < 0 || work.isStopped { isExhausted = true }
        return stepsLeft >= 0 && !work.isStopped
    }

    // MARK: Making terms

    private func intern(_ term: Term) -> ID {
        if let id = ids[term] { return id }
        spent += 1 + term.parts / 8
        work.spend(4 + term.parts / 8)
        guard spent < budget else {
            isExhausted = true
            return Self.never
        }
        let id = ID(terms.count)
        terms.append(term)
        facts.append(Facts(skipFirst: Self.never, skipLater: Self.never, needsBegin: false))
        ids[term] = id
        let known = learn(term)
        facts[Int(id)] = known
        return id
    }

    private func learn(_ term: Term) -> Facts {
        func fact(_ id: ID) -> Facts { facts[Int(id)] }
        switch term {
        case .never, .bytes: return Facts(skipFirst: Self.never, skipLater: Self.never, needsBegin: false)
        case .empty, .star: return Facts(skipFirst: Self.anything, skipLater: Self.anything, needsBegin: false)
        case .concat(let a, let b):
            let (x, y) = (fact(a), fact(b))
            return Facts(
                skipFirst: both([x.skipFirst, y.skipFirst]), skipLater: both([x.skipLater, y.skipLater]),
                needsBegin: x.needsBegin || y.needsBegin)
        case .either(let list):
            return Facts(
                skipFirst: either(list.map { fact($0).skipFirst }), skipLater: either(list.map { fact($0).skipLater }),
                needsBegin: list.allSatisfy { fact($0).needsBegin })
        case .counted(let body, let minimum, _):
            if minimum == 0 { return Facts(skipFirst: Self.anything, skipLater: Self.anything, needsBegin: false) }
            return fact(body)
        case .begin: return Facts(skipFirst: Self.anything, skipLater: Self.never, needsBegin: true)
        case .end: return Facts(skipFirst: Self.empty, skipLater: Self.empty, needsBegin: false)
        case .ahead(let body, let positive):
            var rest = concat(body, Self.anything)
            if !positive { rest = not(rest) }
            return Facts(skipFirst: rest, skipLater: rest, needsBegin: positive && fact(body).needsBegin)
        // These contain the rest of the text, so nothing follows them.
        case .both(let list):
            return Facts(
                skipFirst: Self.never, skipLater: Self.never, needsBegin: list.contains { fact($0).needsBegin })
        case .not: return Facts(skipFirst: Self.never, skipLater: Self.never, needsBegin: false)
        }
    }

    func bytes(_ set: ByteSet) -> ID { set.isEmpty ? Self.never : intern(.bytes(set)) }
    func begin() -> ID { intern(.begin) }
    func end() -> ID { intern(.end) }
    func ahead(_ body: ID, positive: Bool) -> ID { intern(.ahead(body, positive: positive)) }

    func concat(_ first: ID, _ second: ID) -> ID {
        if first == Self.never || second == Self.never { return Self.never }
        if first == Self.empty { return second }
        if second == Self.empty { return first }
        if first == Self.anything, second == Self.anything { return second }
        // Nested to the right, so that equal texts give equal terms.
        var (spine, last) = ([ID](), first)
        while case .concat(let a, let b) = terms[Int(last)] {
            spine.append(a)
            last = b
        }
        var result = intern(.concat(last, second))
        for head in spine.reversed() { result = intern(.concat(head, result)) }
        return result
    }

    func either(_ list: [ID]) -> ID {
        if list.count == 2, list[0] == list[1] || list[1] == Self.never { return list[0] }
        if list.count == 2, list[0] == Self.never { return list[1] }
        var parts: Set<ID> = []
        var set = ByteSet()
        guard pay(list.reduce(0) { $0 + self.parts(of: $1) }) else { return Self.never }
        for id in list {
            if case .either(let inner) = terms[Int(id)] { parts.formUnion(inner) } else { parts.insert(id) }
        }
        parts.remove(Self.never)
        if parts.contains(Self.anything) { return Self.anything }
        for id in parts {
            if case .bytes(let other) = terms[Int(id)] { set = set.union(other) }
        }
        if !set.isEmpty {
            parts = parts.filter { if case .bytes = terms[Int($0)] { false } else { true } }
            parts.insert(bytes(set))
        }
        if parts.count <= 1 { return parts.first ?? Self.never }
        return intern(.either(parts.sorted()))
    }

    func both(_ list: [ID]) -> ID {
        if list.count == 2, list[0] == list[1] || list[1] == Self.anything { return list[0] }
        if list.count == 2, list[0] == Self.anything { return list[1] }
        var parts: Set<ID> = []
        guard pay(list.reduce(0) { $0 + self.parts(of: $1) }) else { return Self.never }
        for id in list {
            if case .both(let inner) = terms[Int(id)] { parts.formUnion(inner) } else { parts.insert(id) }
        }
        if parts.contains(Self.never) { return Self.never }
        parts.remove(Self.anything)
        if parts.isEmpty { return Self.anything }
        if parts.count == 1, let only = parts.first { return only }
        if parts.contains(Self.empty) {
            return parts.allSatisfy { isNullable($0, first: false) } ? Self.empty : Self.never
        }
        return intern(.both(parts.sorted()))
    }

    func not(_ id: ID) -> ID {
        if id == Self.never { return Self.anything }
        if id == Self.anything { return Self.never }
        if case .not(let inner) = terms[Int(id)] { return inner }
        return intern(.not(id))
    }

    func star(_ body: ID) -> ID {
        if body == Self.never || body == Self.empty { return Self.empty }
        if case .star = terms[Int(body)] { return body }
        return intern(.star(body))
    }

    func counted(_ body: ID, _ minimum: Int32, _ maximum: Int32) -> ID {
        if maximum == 0 { return Self.empty }
        if minimum == 0, maximum < 0 { return star(body) }
        if minimum == 1, maximum == 1 { return body }
        if minimum == 0, maximum == 1 { return either([body, Self.empty]) }
        if body == Self.never { return minimum == 0 ? Self.empty : Self.never }
        if body == Self.empty { return Self.empty }
        return intern(.counted(body, minimum: minimum, maximum: maximum))
    }

    func literal(_ text: some Collection<UInt8>) -> ID {
        text.reversed().reduce(Self.empty) { rest, byte in concat(bytes(ByteSet(byte...byte)), rest) }
    }

    func characters(_ set: CharacterSet) -> ID {
        guard isInJSON else { return tree(set.utf8Sequences[...], depth: 0) }
        let escaped = Self.escaped.filter { set.contains(UInt32($0)) }
        let plain = set.inverted.union(CharacterSet(escaped.map { UInt32($0)...UInt32($0) })).inverted
        return either([tree(plain.utf8Sequences[...], depth: 0)] + escaped.map { literal(Self.escape($0).utf8) })
    }

    /// The characters that JSON strings cannot contain as they are.
    private static let escaped: [UInt8] = [0x22, 0x5c] + Array(0...0x1f)

    /// A JSON string with this content.
    static func jsonString(_ text: String) -> String {
        let content = text.utf8.map { escaped.contains($0) ? Array(escape($0).utf8) : [$0] }
        return "\"" + String(decoding: content.joined(), as: UTF8.self) + "\""
    }

    private static func escape(_ byte: UInt8) -> String {
        switch byte {
        case 0x22: #"\""#
        case 0x5c: #"\\"#
        case 0x08: #"\b"#
        case 0x0c: #"\f"#
        case 0x0a: #"\n"#
        case 0x0d: #"\r"#
        case 0x09: #"\t"#
        default: #"\u00"# + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
    }

    /// The tree of byte sequences; equal subtrees become one term. A large class such as `\p{L}` has hundreds of sequences but
    /// about sixty first bytes, and a step looks only at these.
    ///
    /// - Parameter sequences: In the order of their characters; equal in the bytes before `depth`.
    private func tree(_ sequences: ArraySlice<[ClosedRange<UInt8>]>, depth: Int) -> ID {
        var branches: [(rest: ID, bytes: ByteSet)] = []
        var left = sequences
        while let first = left.first {
            let group = left.prefix { $0[depth] == first[depth] }
            left = left.dropFirst(group.count)
            let rest = depth + 1 == first.count ? Self.empty : tree(group, depth: depth + 1)
            if let known = branches.firstIndex(where: { $0.rest == rest }) {
                branches[known].bytes = branches[known].bytes.union(ByteSet(first[depth]))
            } else {
                branches.append((rest, ByteSet(first[depth])))
            }
        }
        return either(branches.map { concat(bytes($0.bytes), $0.rest) })
    }

    /// The sets of bytes that a term distinguishes, now or later.
    func byteSets(of id: ID) -> Set<ByteSet> {
        var (result, pending, seen) = (Set<ByteSet>(), [id], Set<ID>())
        while let id = pending.popLast() {
            guard seen.insert(id).inserted else { continue }
            switch terms[Int(id)] {
            case .never, .empty, .begin, .end: break
            case .bytes(let set): result.insert(set)
            case .concat(let a, let b): pending += [a, b]
            case .either(let list), .both(let list): pending += list
            case .not(let inner), .star(let inner), .counted(let inner, _, _), .ahead(let inner, _):
                pending.append(inner)
            }
        }
        return result
    }

    /// Whether a term has anchors or look-ahead, so that what it matches depends on the text around.
    func looksAround(_ id: ID) -> Bool {
        var (pending, seen) = ([id], Set<ID>())
        while let id = pending.popLast() {
            guard seen.insert(id).inserted else { continue }
            switch terms[Int(id)] {
            case .begin, .end, .ahead: return true
            case .never, .empty, .bytes: break
            case .concat(let a, let b): pending += [a, b]
            case .either(let list), .both(let list): pending += list
            case .not(let inner), .star(let inner), .counted(let inner, _, _): pending.append(inner)
            }
        }
        return false
    }

    /// The part of a term that searches the rest of the text, so that no continuation can end the search.
    func search(in id: ID) -> ID? {
        guard id >= 0 else { return nil }
        if id == Self.anything { return id }
        switch terms[Int(id)] {
        case .concat(Self.anything, _): return id
        case .either(let list): return list.lazy.compactMap { self.search(in: $0) }.first
        default: return nil
        }
    }

    // MARK: Reading text

    /// Whether the term matches the empty text. - Parameter first: Whether nothing precedes it.
    func isNullable(_ id: ID, first: Bool) -> Bool {
        guard pay(1) else { return false }
        switch terms[Int(id)] {
        case .never, .bytes: return false
        case .empty, .star: return true
        case .either(let list): return list.contains { isNullable($0, first: first) }
        case .both(let list): return list.allSatisfy { isNullable($0, first: first) }
        case .not(let inner): return !isNullable(inner, first: first)
        case .concat, .counted, .begin, .end, .ahead:
            let skip = first ? facts[Int(id)].skipFirst : facts[Int(id)].skipLater
            if skip == Self.anything { return true }
            return skip == Self.never || skip == id ? false : isNullable(skip, first: first)
        }
    }

    /// The term after `byte`. - Parameter first: Whether nothing precedes it.
    func derivative(_ id: ID, _ byte: UInt8, first: Bool = false) -> ID {
        if id == Self.anything || id == Self.never { return id }
        guard pay(1) else { return Self.never }
        let key = UInt64(UInt32(bitPattern: id)) << 9 | UInt64(byte) << 1 | (first ? 1 : 0)
        if let known = derivatives[key] { return known }
        let result: ID
        switch terms[Int(id)] {
        case .either(let list): result = either(list.map { derivative($0, byte, first: first) })
        case .both(let list): result = both(list.map { derivative($0, byte, first: first) })
        case .not(let inner): result = not(derivative(inner, byte, first: first))
        default: result = consume(id, byte, then: Self.empty, first: first)
        }
        derivatives[key] = result
        return result
    }

    /// The term after `byte` if the term itself consumes it; `rest` follows the term.
    private func consume(_ id: ID, _ byte: UInt8, then rest: ID, first: Bool) -> ID {
        guard pay(1) else { return Self.never }
        switch terms[Int(id)] {
        case .bytes(let set):
            return set.contains(byte) && !facts[Int(rest)].needsBegin ? rest : Self.never
        case .concat:
            var parts: [ID] = []
            var condition = Self.anything
            var spine = id
            while true {
                var (head, tail) = (spine, Self.empty)
                if case .concat(let a, let b) = terms[Int(spine)] { (head, tail) = (a, b) }
                let taken = consume(head, byte, then: concat(tail, rest), first: first)
                parts.append(both([condition, taken]))
                let skip = first ? facts[Int(head)].skipFirst : facts[Int(head)].skipLater
                if skip != Self.anything {
                    if skip == Self.never { break }
                    condition = both([condition, derivative(skip, byte, first: first)])
                }
                if condition == Self.never || tail == Self.empty { break }
                spine = tail
            }
            return either(parts)
        case .either(let list): return either(list.map { consume($0, byte, then: rest, first: first) })
        case .star(let body): return consume(body, byte, then: concat(id, rest), first: first)
        case .counted(let body, let minimum, let maximum):
            let left = counted(body, max(minimum - 1, 0), maximum < 0 ? maximum : maximum - 1)
            return consume(body, byte, then: concat(left, rest), first: first)
        case .never, .empty, .begin, .end, .ahead: return Self.never
        case .both, .not: return derivative(id, byte, first: first)
        }
    }
}
