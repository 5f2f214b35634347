public import Foundation

/// A limit on the values of a property. It is enforced while the value is generated.
public struct GenerationGuide<Value>: Sendable {
    let limits: [SchemaNode.Limit]

    init(_ limits: SchemaNode.Limit...) { self.limits = limits }
}

extension GenerationGuide where Value == String {
    /// This text only.
    public static func constant(_ value: String) -> Self { Self(.choices([value])) }

    /// One of these texts.
    public static func anyOf(_ values: [String]) -> Self { Self(.choices(values)) }

    /// A text that matches as a whole. The regular expression must be a literal or made from a string, since others cannot be
    /// written down: with one of those, generation throws `unsupportedGuide`.
    public static func pattern<Output>(_ regex: Regex<Output>) -> Self { Self(.pattern(regex.patternText)) }
}

extension GenerationGuide where Value == Int {
    public static func minimum(_ value: Int) -> Self { Self(.minimum(.int(value))) }
    public static func maximum(_ value: Int) -> Self { Self(.maximum(.int(value))) }
    public static func range(_ range: ClosedRange<Int>) -> Self {
        Self(.minimum(.int(range.lowerBound)), .maximum(.int(range.upperBound)))
    }
}

extension GenerationGuide where Value == Float {
    public static func minimum(_ value: Float) -> Self { Self(.minimum(.double(Double(value)))) }
    public static func maximum(_ value: Float) -> Self { Self(.maximum(.double(Double(value)))) }
    public static func range(_ range: ClosedRange<Float>) -> Self {
        Self(.minimum(.double(Double(range.lowerBound))), .maximum(.double(Double(range.upperBound))))
    }
}

extension GenerationGuide where Value == Double {
    public static func minimum(_ value: Double) -> Self { Self(.minimum(.double(value))) }
    public static func maximum(_ value: Double) -> Self { Self(.maximum(.double(value))) }
    public static func range(_ range: ClosedRange<Double>) -> Self {
        Self(.minimum(.double(range.lowerBound)), .maximum(.double(range.upperBound)))
    }
}

extension GenerationGuide where Value == Decimal {
    public static func minimum(_ value: Decimal) -> Self { Self(.minimum(.double(value.double))) }
    public static func maximum(_ value: Decimal) -> Self { Self(.maximum(.double(value.double))) }
    public static func range(_ range: ClosedRange<Decimal>) -> Self {
        Self(.minimum(.double(range.lowerBound.double)), .maximum(.double(range.upperBound.double)))
    }
}

extension GenerationGuide {
    /// At least so many elements.
    public static func minimumCount<Element>(_ count: Int) -> Self where Value == [Element] {
        Self(.minimumCount(count))
    }

    /// At most so many elements.
    public static func maximumCount<Element>(_ count: Int) -> Self where Value == [Element] {
        Self(.maximumCount(count))
    }

    /// A number of elements in this range.
    public static func count<Element>(_ range: ClosedRange<Int>) -> Self where Value == [Element] {
        Self(.minimumCount(range.lowerBound), .maximumCount(range.upperBound))
    }

    /// Exactly so many elements.
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
    /// The text of the expression; `nil` for one that was not written as text, such as a builder's.
    var patternText: String? { _literalPattern }
}

extension Decimal {
    /// The nearest double; by way of digits, since `NSDecimalNumber` rounds several times.
    var double: Double { Double(description) ?? .nan }
}

/// The compiler checks `@Guide(.count(3))` before it knows the property's type: these let it. The macro calls the others.
extension GenerationGuide where Value == [Never] {
    public static func minimumCount(_ count: Int) -> Self { Self(.minimumCount(count)) }
    public static func maximumCount(_ count: Int) -> Self { Self(.maximumCount(count)) }
    public static func count(_ range: ClosedRange<Int>) -> Self {
        Self(.minimumCount(range.lowerBound), .maximumCount(range.upperBound))
    }
    public static func count(_ count: Int) -> Self { Self(.minimumCount(count), .maximumCount(count)) }
}
