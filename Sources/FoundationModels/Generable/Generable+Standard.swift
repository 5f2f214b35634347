public import Foundation

// `Generable` conformances of types in the standard library and Foundation.

extension Bool: Generable {
    public static var generationSchema: GenerationSchema { GenerationSchema(.boolean) }
    public var generatedContent: GeneratedContent { GeneratedContent(kind: .bool(self)) }

    public init(_ content: GeneratedContent) throws {
        guard case .bool(let bool) = content.kind else { throw content.failure("expected true or false") }
        self = bool
    }
}

extension String: Generable {
    public static var generationSchema: GenerationSchema { GenerationSchema(.string([])) }
    public var generatedContent: GeneratedContent { GeneratedContent(kind: .string(self)) }

    public init(_ content: GeneratedContent) throws {
        guard case .string(let text) = content.kind else { throw content.failure("expected a text") }
        self = text
    }
}

extension Int: Generable {
    public static var generationSchema: GenerationSchema { GenerationSchema(.integer([])) }
    public var generatedContent: GeneratedContent { GeneratedContent(kind: .number(Double(self))) }

    public init(_ content: GeneratedContent) throws {
        guard case .number(let number) = content.kind, let int = Int(exactly: number) else {
            throw content.failure("expected a whole number")
        }
        self = int
    }
}

extension Double: Generable {
    public static var generationSchema: GenerationSchema { GenerationSchema(.number(upTo: 1e308, [])) }
    public var generatedContent: GeneratedContent { GeneratedContent(kind: .number(self)) }

    public init(_ content: GeneratedContent) throws {
        guard case .number(let number) = content.kind else { throw content.failure("expected a number") }
        self = number
    }
}

extension Float: Generable {
    public static var generationSchema: GenerationSchema { GenerationSchema(.number(upTo: 1e38, [])) }
    public var generatedContent: GeneratedContent { GeneratedContent(kind: .number(Double(self))) }
    public init(_ content: GeneratedContent) throws { self = Float(try Double(content)) }
}

extension Decimal: Generable {
    public static var generationSchema: GenerationSchema { GenerationSchema(.number(upTo: 1e120, [])) }
    public var generatedContent: GeneratedContent { GeneratedContent(kind: .number(double)) }

    public init(_ content: GeneratedContent) throws {
        // The shortest decimal that reads back as this double: 0.1 stays 0.1.
        let double = try Double(content)
        guard double.magnitude < 1e127, let decimal = Decimal(string: "\(double)") else {
            throw content.failure("expected a number that a Decimal can hold")
        }
        self = decimal
    }
}

extension Never: Generable {
    public static var generationSchema: GenerationSchema { GenerationSchema(.nothing) }
    public var generatedContent: GeneratedContent { switch self {} }
    public init(_ content: GeneratedContent) throws { throw content.failure("expected no value") }
}

extension Never: InstructionsRepresentable, PromptRepresentable {}

extension Array: ConvertibleToGeneratedContent where Element: ConvertibleToGeneratedContent {
    public var generatedContent: GeneratedContent { GeneratedContent(elements: self) }
}

extension Array: ConvertibleFromGeneratedContent where Element: ConvertibleFromGeneratedContent {
    /// Reads a list. If the list is cut off, a last element too short to parse is dropped.
    public init(_ content: GeneratedContent) throws {
        guard case .array(let elements) = content.kind else { throw content.failure("expected a list") }
        self = try elements.compactMap { $0.isComplete ? try Element($0) : try? Element($0) }
    }
}

extension Array: Generable where Element: Generable {
    public typealias PartiallyGenerated = [Element.PartiallyGenerated]
    public static var generationSchema: GenerationSchema { GenerationSchema(.array(of: .type(Element.self), [])) }
}

extension Optional: ConvertibleToGeneratedContent where Wrapped: ConvertibleToGeneratedContent {
    /// `null` for `nil`.
    public var generatedContent: GeneratedContent { self?.generatedContent ?? GeneratedContent(kind: .null) }
}

extension Optional: InstructionsRepresentable where Wrapped: InstructionsRepresentable {
    /// Empty for `nil`.
    public var instructionsRepresentation: Instructions { self?.instructionsRepresentation ?? Instructions(parts: []) }
}

extension Optional: PromptRepresentable where Wrapped: PromptRepresentable {
    /// Empty for `nil`.
    public var promptRepresentation: Prompt { self?.promptRepresentation ?? Prompt(parts: []) }
}

extension Optional where Wrapped: Generable {
    public typealias PartiallyGenerated = Wrapped.PartiallyGenerated
}
