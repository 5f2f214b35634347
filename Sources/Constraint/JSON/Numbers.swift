/// The part of a number read so far, if its value matters.
struct NumberState: Hashable {
    var mantissa: UInt128 = 0
    /// Exponent of the mantissa's last digit, without the written exponent.
    var exponent: Int32 = 0
    var written: Int32 = 0
    var digits: UInt8 = 0
    var isNegative = false
    var isCut = false
    var hasNegativeExponent = false

    /// Counts a digit of a number whose value does not matter. `written` is then the number of the exponent's digits.
    mutating func count(_ byte: UInt8, _ syntax: NumberSyntax) {
        switch syntax {
        case .digits, .fraction:
            if digits > 0 || byte != UInt8(ascii: "0") { digits += 1 }
            if syntax == .fraction { exponent -= 1 }
        case .exponent: written += 1
        default: break
        }
    }

    /// Whether the number has its maximum length, so that no further digit of kind `next` may follow.
    func isFull(_ next: NumberSyntax, _ limits: DigitLimits) -> Bool {
        switch next {
        case .digits: digits >= limits.whole
        case .fraction: exponent < 0 && (digits > 0 ? digits >= limits.significant : -exponent >= limits.places)
        case .exponent: written >= DigitLimits.exponent
        default: false
        }
    }

    mutating func add(_ byte: UInt8, _ syntax: NumberSyntax) {
        switch syntax {
        case .minus: isNegative = true
        case .zero, .digits, .fraction:
            let digit = UInt128(byte &- 48)
            if Int(digits) < Decimal.digits {
                mantissa = mantissa * 10 + digit
                if mantissa > 0 { digits += 1 }
                if syntax == .fraction { exponent -= 1 }
            } else {
                if digit != 0 { isCut = true }
                if syntax != .fraction { exponent += 1 }
            }
        case .exponentSign: hasNegativeExponent = byte == UInt8(ascii: "-")
        case .exponent: written = min(written * 10 + Int32(byte &- 48), 1_000_000)
        default: break
        }
    }

    var value: Decimal {
        var value = Decimal()
        value.isNegative = isNegative
        value.mantissa = mantissa
        value.exponent = Int(exponent) + Int(hasNegativeExponent ? -written : written)
        value.isCut = isCut
        value.normalize()
        return value
    }
}

/// The maximum length of a number that a model may write, so that a weak one does not fill its context with digits. The
/// values in a schema may be longer; then their length is the maximum.
struct DigitLimits {
    /// Digits before the point, as many as the largest 64-bit integer has.
    var whole = 19
    /// Significant digits of a number with a fraction, as many as distinguish all 64-bit floating point numbers.
    var significant = 17
    /// Places after the point at which the first significant digit of a fraction may be.
    var places = 17
    /// Digits of the exponent.
    static let exponent = 3

    mutating func include(_ value: Decimal) {
        let digits = value.digitCount
        // Longer ones are not written: see `Decimal.digits`.
        whole = max(whole, min(digits + value.exponent, Decimal.digits))
        significant = max(significant, digits)
        places = max(places, min(-value.exponent, Decimal.digits))
    }
}

extension JSONMachine {
    func prepareNumbers(_ position: Position) {
        for local in position.closure.locals {
            let node = plan.nodes[Int(local.node)]
            if node.enumeration != nil || !node.numbers.isFree { position.tracksNumbers = true }
            let isMixed = node.types.contains(.integer) != node.types.contains(.fraction)
            if isMixed, options.anySpelling { position.tracksNumbers = true }
            position.limits += node.numbers.lower.map(\.value) + node.numbers.upper.map(\.value)
            position.limits += node.enumeration?.numbers ?? []
            position.steps += node.numbers.multiples
        }
        position.numbers = (
            finish(position, NumberFacts(value: .zero)),
            finish(position, NumberFacts(value: Decimal(text: "0.5".utf8)))
        )
        position.writesIntegers = !options.anySpelling && !position.types.contains(.fraction)
        for value in position.limits + position.steps { position.digits.include(value) }
    }

    /// The ranges that may satisfy the position, for a number with a digit other than zero at `exponent` after the point.
    private func bounds(_ position: Position, _ exponent: Int) -> [NumberRange] {
        let place = position.steps.contains { $0.exponent > exponent } ? min(exponent, 0) : 0
        if let known = position.bounds[place] { return known }
        let made = ranges(position, exponent: place)
        position.bounds[place] = made
        return made
    }

    /// The ranges that may satisfy the position: the number line is cut at all limits, and each part is tested.
    private func ranges(_ position: Position, exponent: Int) -> [NumberRange] {
        let sorted = Set(position.limits).sorted(by: <)
        var result: [NumberRange] = []
        for index in 0...sorted.count {
            let (low, high) = (index > 0 ? sorted[index - 1] : nil, index < sorted.count ? sorted[index] : nil)
            if residual(position, RangeFacts(range: NumberRange(low: low, high: high), exponent: exponent))
                != Requirements.no
            {
                result.append(NumberRange(low: low, high: high))
            }
            if let high {
                let point = RangeFacts(range: NumberRange(low: high, high: high), exponent: exponent)
                if residual(position, point) != Requirements.no { result.append(point.range) }
            }
        }
        return result
    }

    /// - Returns: False if the byte cannot continue the number; the number may still end before it.
    func number(_ state: inout JSONState, _ byte: UInt8) -> Bool {
        guard let syntax = NumberSyntax(rawValue: state.sub) else { return false }
        let next = syntax.step(byte)
        guard next != .refused else { return false }
        let position = positions[Int(children[Int(state.child)].position)]
        if position.writesIntegers, next == .point || next == .e { return false }
        if position.tracksNumbers {
            // Bounded numbers are written without exponent, so that possible continuations can be determined.
            if next == .e, !options.anySpelling { return false }
            var number = state.number
            number.add(byte, next)
            if !options.anySpelling {
                // A number of the maximum length may go on only if the schema does not allow it to end here.
                var ended = state
                if state.number.isFull(next, position.digits), endNumber(&ended, at: -1) { return false }
                guard !number.isCut, number.digits < 30, number.exponent > -30 else { return false }
                guard canComplete(number, next, position) else { return false }
            }
            state.number = number
        } else if !options.anySpelling {
            guard !state.number.isFull(next, position.digits) else { return false }
            state.number.count(byte, next)
        }
        state.sub = next.rawValue
        return true
    }

    func endNumber(_ state: inout JSONState, at offset: Int) -> Bool {
        guard let syntax = NumberSyntax(rawValue: state.sub), syntax.isEnd else { return false }
        let position = positions[Int(children[Int(state.child)].position)]
        let bits: Bits?
        if position.tracksNumbers {
            bits = finish(position, NumberFacts(value: state.number.value))
        } else {
            bits =
                syntax == .digits || syntax == .zero
                ? position.numbers.integer : position.numbers.fraction ?? position.numbers.integer
        }
        guard let bits else { return false }
        return endValue(&state, result(bits), at: offset)
    }

    /// Whether further digits can make the number satisfy the position.
    private func canComplete(_ number: NumberState, _ syntax: NumberSyntax, _ position: Position) -> Bool {
        if syntax == .minus {
            return bounds(position, 0).contains { range in
                range.low.map { $0.isNegative || $0.isZero } ?? true
                    && (range.low.map { !$0.isZero } ?? true || range.high.map { $0.isZero } ?? false)
            }
        }
        var low = number.value
        low.isNegative = false
        let ranges = bounds(position, low.exponent)
        work.spend(ranges.count / 16)
        // The number itself, then all numbers with `shift` more digits before the point.
        for shift in 0..<31 {
            if shift > 0, syntax != .digits || low.isZero { break }
            let scale = Int(number.exponent) + shift
            let from = Decimal(mantissa: number.mantissa, exponent: scale)
            let to = Decimal(mantissa: number.mantissa + 1, exponent: scale)
            if ranges.contains(where: { meets($0, from, to, number, syntax, position) }) { return true }
        }
        return false
    }

    /// Whether a number in `from..<to` is in the range; both without sign.
    private func meets(
        _ range: NumberRange, _ from: Decimal, _ to: Decimal, _ number: NumberState, _ syntax: NumberSyntax,
        _ position: Position
    ) -> Bool {
        var (low, high) = (range.low, range.high)
        if number.isNegative {
            (low, high) = (range.high.map(\.negated), range.low.map(\.negated))
        }
        let isPoint = range.low != nil && range.low == range.high
        if let high {
            if isPoint || position.writesIntegers ? high < from : !(from < high) { return false }
        }
        if let low {
            // All of from..<to is below the range, or only the open end touches it.
            if !(low < to) { return false }
            if !isPoint, position.writesIntegers, !(low < to.minusOne) { return false }
        }
        if !isPoint, position.writesIntegers, let high, !(from < high) { return false }
        return true
    }
}

extension Decimal {
    init(mantissa: UInt128, exponent: Int) {
        self.mantissa = mantissa
        self.exponent = exponent
        normalize()
    }

    var negated: Decimal {
        var value = self
        if !isZero { value.isNegative.toggle() }
        return value
    }

    /// A positive integer of at most 38 digits, minus one.
    var minusOne: Decimal {
        guard exponent >= 0, exponent < 38, !isNegative else { return self }
        var whole = mantissa
        for _ in 0..<exponent {
            let (grown, overflow) = whole.multipliedReportingOverflow(by: 10)
            if overflow { return self }
            whole = grown
        }
        return whole == 0 ? self : Decimal(mantissa: whole - 1, exponent: 0)
    }
}

/// Facts on a number known to be in an open range, or equal to both its ends.
struct RangeFacts: Facts {
    let range: NumberRange
    /// If negative, the number has a digit other than zero at this exponent: it is no multiple of a larger power of ten.
    let exponent: Int

    func leaf(_ local: Int, _ positive: Bool, _ machine: JSONMachine, _ evaluation: inout Evaluation) -> Requirements.ID
    {
        let node = machine.plan.nodes[Int(evaluation.closure.locals[local].node)]
        if let low = range.low, let high = range.high, low == high {
            return NumberFacts(value: low).leaf(local, positive, machine, &evaluation)
        }
        guard !node.types.isDisjoint(with: .number) else { return constant(false, positive) }
        if node.enumeration != nil { return constant(false, positive) }
        let rules = node.numbers
        // Limits are cuts, so an open range is on one side of each limit.
        let fits =
            rules.lower.allSatisfy { bound in range.low.map { !($0 < bound.value) } ?? false }
            && rules.upper.allSatisfy { bound in range.high.map { !(bound.value < $0) } ?? false }
        let isMultiple = exponent >= 0 || rules.multiples.allSatisfy { $0.exponent <= exponent }
        if !fits || !isMultiple { return constant(false, positive) }
        let isCertain = rules.multiples.isEmpty && node.types.isSuperset(of: .number)
        return isCertain ? constant(true, positive) : Requirements.yes
    }
}
