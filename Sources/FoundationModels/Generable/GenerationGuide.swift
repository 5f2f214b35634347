public import Foundation
import JSON

/// A limit on the values of a property, enforced during generation.
public struct GenerationGuide<Value>: Sendable {
    let limits: [SchemaNode.Limit]

    init(_ limits: SchemaNode.Limit...) { self.limits = limits }
}

extension GenerationGuide where Value == String {
    /// Only this string.
    public static func constant(_ value: String) -> Self { Self(.choices([value])) }

    /// One of these strings.
    public static func anyOf(_ values: [String]) -> Self { Self(.choices(values)) }

    /// A string that matches entirely. The regular expression must be a literal or made from a string: builder
    /// expressions have no source text, and generation with one throws `unsupportedGuide`.
    public static func pattern<Output>(_ regex: Regex<Output>) -> Self { Self(.pattern(regex.patternText)) }
}

extension GenerationGuide where Value == Int {
    /// The number is at least `value`. Of several minima the largest counts.
    public static func minimum(_ value: Int) -> Self { Self(.minimum(JSON(value))) }
    /// The number is at most `value`. Of several maxima the smallest counts.
    public static func maximum(_ value: Int) -> Self { Self(.maximum(JSON(value))) }
    /// The number is in the range, both ends included.
    public static func range(_ range: ClosedRange<Int>) -> Self {
        Self(.minimum(JSON(range.lowerBound)), .maximum(JSON(range.upperBound)))
    }
}

extension GenerationGuide where Value == Float {
    /// The number is at least `value`, compared as a `Double`.
    public static func minimum(_ value: Float) -> Self { Self(.minimum(JSON(Double(value)))) }
    /// The number is at most `value`, compared as a `Double`.
    public static func maximum(_ value: Float) -> Self { Self(.maximum(JSON(Double(value)))) }
    /// The number is in the range, both ends included.
    public static func range(_ range: ClosedRange<Float>) -> Self {
        Self(.minimum(JSON(Double(range.lowerBound))), .maximum(JSON(Double(range.upperBound))))
    }
}

extension GenerationGuide where Value == Double {
    /// The number is at least `value`, which must be finite.
    public static func minimum(_ value: Double) -> Self { Self(.minimum(JSON(value))) }
    /// The number is at most `value`, which must be finite.
    public static func maximum(_ value: Double) -> Self { Self(.maximum(JSON(value))) }
    /// The number is in the range, both ends included.
    public static func range(_ range: ClosedRange<Double>) -> Self {
        Self(.minimum(JSON(range.lowerBound)), .maximum(JSON(range.upperBound)))
    }
}

extension GenerationGuide where Value == Decimal {
    /// The number is at least `value`, rounded to the nearest `Double`.
    public static func minimum(_ value: Decimal) -> Self { Self(.minimum(JSON(value.double))) }
    /// The number is at most `value`, rounded to the nearest `Double`.
    public static func maximum(_ value: Decimal) -> Self { Self(.maximum(JSON(value.double))) }
    /// The number is in the range, both ends included and rounded to the nearest `Double`.
    public static func range(_ range: ClosedRange<Decimal>) -> Self {
        Self(.minimum(JSON(range.lowerBound.double)), .maximum(JSON(range.upperBound.double)))
    }
}

extension GenerationGuide {
    /// At least `count` elements.
    public static func minimumCount<Element>(_ count: Int) -> Self where Value == [Element] {
        Self(.minimumCount(count))
    }

    /// At most `count` elements.
    public static func maximumCount<Element>(_ count: Int) -> Self where Value == [Element] {
        Self(.maximumCount(count))
    }

    /// A number of elements in this range.
    public static func count<Element>(_ range: ClosedRange<Int>) -> Self where Value == [Element] {
        Self(.minimumCount(range.lowerBound), .maximumCount(range.upperBound))
    }

    /// Exactly `count` elements.
    public static func count<Element>(_ count: Int) -> Self where Value == [Element] {
        Self(.minimumCount(count), .maximumCount(count))
    }

    /// A limit on each element.
    public static func element<Element>(_ guide: GenerationGuide<Element>) -> Self where Value == [Element] {
        GenerationGuide(limits: guide.limits.map { .element($0) })
    }

    init(limits: [SchemaNode.Limit]) { self.limits = limits }
}

extension Regex {
    /// Source text of the expression; `nil` if it has none, such as a builder's.
    var patternText: String? { _literalPattern }
}

extension Decimal {
    /// The nearest double. Converted through decimal digits, since `NSDecimalNumber` rounds several times.
    var double: Double { Double(description) ?? .nan }
}

/// Overloads that let `@Guide(.count(3))` type-check: the compiler checks it before it knows the property's type. The
/// macro expands to the overloads above.
extension GenerationGuide where Value == [Never] {
    /// The array has at least `count` elements; the model cannot end it before.
    public static func minimumCount(_ count: Int) -> Self { Self(.minimumCount(count)) }
    /// The array has at most `count` elements; the model must end it then.
    public static func maximumCount(_ count: Int) -> Self { Self(.maximumCount(count)) }
    /// The array's number of elements is in the range, both ends included.
    public static func count(_ range: ClosedRange<Int>) -> Self {
        Self(.minimumCount(range.lowerBound), .maximumCount(range.upperBound))
    }
    /// The array has exactly `count` elements.
    public static func count(_ count: Int) -> Self { Self(.minimumCount(count), .maximumCount(count)) }
}
