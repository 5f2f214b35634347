/// A JSON number, exact up to 38 digits: `±mantissa · 10^exponent`.
///
/// Of longer numbers only the fact that more digits follow is kept (`isCut`), so that they still compare correctly with
/// every number of at most 38 digits.
struct Decimal: Hashable, Sendable {
    var isNegative = false
    /// Without trailing zeros, except before `init(text:)` has normalized it; 0 for zero.
    var mantissa: UInt128 = 0
    var exponent: Int = 0
    var isCut = false

    static let digits = 38
    static let zero = Decimal()

    init() {}

    init(_ value: Int) {
        isNegative = value < 0
        mantissa = UInt128(value.magnitude)
        normalize()
    }

    /// - Parameter text: A number in JSON syntax, not checked here.
    init(text: some Collection<UInt8>) {
        var (fraction, isFraction, exponentText, inExponent, negativeExponent) = (0, false, 0, false, false)
        var count = 0
        for byte in text {
            switch byte {
            case UInt8(ascii: "-"): if inExponent { negativeExponent = true } else { isNegative = true }
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"): inExponent = true
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                let digit = UInt128(byte - 48)
                if inExponent {
                    exponentText = min(exponentText * 10 + Int(digit), 1_000_000)
                } else if count < Self.digits {
                    mantissa = mantissa * 10 + digit
                    if mantissa > 0 { count += 1 }
                    if isFraction { fraction += 1 }
                } else {
                    if digit != 0 { isCut = true }
                    if !isFraction { fraction -= 1 }
                }
            default: break
            }
        }
        exponent = (negativeExponent ? -exponentText : exponentText) - fraction
        normalize()
    }

    mutating func normalize() {
        if mantissa == 0 {
            (isNegative, exponent) = (false, 0)
            return
        }
        while mantissa % 10 == 0 {
            mantissa /= 10
            exponent += 1
        }
    }

    var isZero: Bool { mantissa == 0 }
    var isInteger: Bool { mantissa == 0 || (exponent >= 0 && !(isCut && exponent == 0)) }

    /// The value, if it is an integer of at most nine digits.
    var smallInteger: Int? {
        guard isInteger, exponent < 10, mantissa < 1_000_000_000 else { return nil }
        var value = Int(mantissa)
        for _ in 0..<exponent { value *= 10 }
        return value < 1_000_000_000 ? (isNegative ? -value : value) : nil
    }

    var digitCount: Int {
        var (count, rest) = (0, mantissa)
        while rest > 0 {
            rest /= 10
            count += 1
        }
        return count
    }

    static func < (a: Decimal, b: Decimal) -> Bool { compare(a, b) < 0 }

    /// - Returns: Negative, zero or positive, like `a - b`.
    static func compare(_ a: Decimal, _ b: Decimal) -> Int {
        if a.mantissa == 0 || b.mantissa == 0 || a.isNegative != b.isNegative {
            let sign = { (x: Decimal) in x.mantissa == 0 ? 0 : x.isNegative ? -1 : 1 }
            return sign(a) - sign(b)
        }
        let magnitude = compareMagnitude(a, b)
        return a.isNegative ? -magnitude : magnitude
    }

    private static func compareMagnitude(_ a: Decimal, _ b: Decimal) -> Int {
        let (countA, countB) = (a.digitCount, b.digitCount)
        let (orderA, orderB) = (countA + a.exponent, countB + b.exponent)
        if orderA != orderB { return orderA < orderB ? -1 : 1 }
        var (x, y) = (a.mantissa, b.mantissa)
        for _ in 0..<max(countB - countA, 0) { x *= 10 }
        for _ in 0..<max(countA - countB, 0) { y *= 10 }
        if x != y { return x < y ? -1 : 1 }
        return a.isCut == b.isCut ? 0 : a.isCut ? 1 : -1
    }

    /// Whether this is an integer multiple of `step`, whose mantissa is below 10^18.
    func isMultiple(of step: Decimal) -> Bool {
        if mantissa == 0 { return true }
        if isCut || step.mantissa == 0 { return false }
        if exponent >= step.exponent {
            let modulus = step.mantissa
            return (mantissa % modulus) * Self.power(of: exponent - step.exponent, modulo: modulus) % modulus == 0
        }
        // mantissa / (step.mantissa · 10^k) must be an integer; neither mantissa has trailing zeros.
        var divisor = step.mantissa
        for _ in 0..<(step.exponent - exponent) {
            divisor *= 10
            if divisor > mantissa { return false }
        }
        return mantissa % divisor == 0
    }

    private static func power(of count: Int, modulo modulus: UInt128) -> UInt128 {
        var (result, base, left) = (1 % modulus, 10 % modulus, count)
        while left > 0 {
            if left & 1 == 1 { result = result * base % modulus }
            base = base * base % modulus
            left >>= 1
        }
        return result
    }
}

extension Decimal: CustomStringConvertible {
    var description: String {
        "\(isNegative ? "-" : "")\(mantissa)\(exponent == 0 ? "" : "e\(exponent)")"
    }
}
