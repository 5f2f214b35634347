/// A type whose values a model can generate.
///
/// Attach `@Generable` to a structure or an enumeration; the macro writes all requirements. A structure's stored
/// properties must be `Generable`, or optionals of `Generable` types.
public protocol Generable: ConvertibleFromGeneratedContent, ConvertibleToGeneratedContent {
    /// A partially generated value, as streams deliver it.
    associatedtype PartiallyGenerated: ConvertibleFromGeneratedContent = Self

    /// The JSON schema of the type's values.
    static var generationSchema: GenerationSchema { get }
}

extension Generable {
    /// The complete value in the form that streams deliver.
    public func asPartiallyGenerated() -> PartiallyGenerated {
        do {
            return try PartiallyGenerated(generatedContent)
        } catch {
            preconditionFailure("\(Self.self): its own content is no \(PartiallyGenerated.self): \(error)")
        }
    }
}

#if compiler(<6.2)
    /// What newer compilers require of types whose conformances cross actors.
    public typealias SendableMetatype = Any
#endif

/// A type that can be created from generated content.
public protocol ConvertibleFromGeneratedContent: SendableMetatype {
    /// - Throws: `GeneratedContent.ParsingError` if the content has another type.
    init(_ content: GeneratedContent) throws
}

/// A type that can be written as generated content; prompts and instructions contain it as JSON.
public protocol ConvertibleToGeneratedContent: InstructionsRepresentable, PromptRepresentable {
    /// The value as content; of a structure, its properties in the order of their declaration.
    var generatedContent: GeneratedContent { get }
}

extension ConvertibleToGeneratedContent {
    public var instructionsRepresentation: Instructions { Instructions(parts: [.text(generatedContent.jsonString)]) }
    public var promptRepresentation: Prompt { Prompt(parts: [.text(generatedContent.jsonString)]) }
}

#if LOCALLLM_MACROS
    /// Makes a structure or an enumeration `Generable`.
    ///
    /// - Parameter description: The meaning of the type, shown to the model.
    @attached(extension, conformances: Generable, names: named(init(_:)))
    @attached(member, names: named(generationSchema), named(generatedContent), named(PartiallyGenerated))
    public macro Generable(description: String? = nil) =
        #externalMacro(module: "LocalLLMMacros", type: "GenerableMacro")

    /// Makes a structure or an enumeration `Generable`.
    ///
    /// - Parameters:
    ///   - description: The meaning of the type, shown to the model.
    ///   - representNilExplicitlyInGeneratedContent: Whether an optional property without a value is `null`, instead of
    ///     missing.
    @attached(extension, conformances: Generable, names: named(init(_:)))
    @attached(member, names: named(generationSchema), named(generatedContent), named(PartiallyGenerated))
    public macro Generable(description: String? = nil, representNilExplicitlyInGeneratedContent: Bool) =
        #externalMacro(module: "LocalLLMMacros", type: "GenerableMacro")

    /// Makes a structure or an enumeration `Generable`.
    ///
    /// - Parameters:
    ///   - name: The name of the schema, instead of the type's.
    ///   - description: The meaning of the type, shown to the model.
    ///   - representNilExplicitlyInGeneratedContent: Whether an optional property without a value is `null`, instead of
    ///     missing.
    @attached(extension, conformances: Generable, names: named(init(_:)))
    @attached(member, names: named(generationSchema), named(generatedContent), named(PartiallyGenerated))
    public macro Generable(
        name: String, description: String? = nil, representNilExplicitlyInGeneratedContent: Bool = false
    ) = #externalMacro(module: "LocalLLMMacros", type: "GenerableMacro")

    /// Describes a property to the model.
    @attached(peer)
    public macro Guide(description: String) = #externalMacro(module: "LocalLLMMacros", type: "GuideMacro")

    /// Describes a property to the model and limits its values. Limits are enforced during generation.
    @attached(peer)
    public macro Guide<Value: Generable>(description: String? = nil, _ guides: GenerationGuide<Value>...) =
        #externalMacro(module: "LocalLLMMacros", type: "GuideMacro")

    /// Describes a property to the model and limits it to strings that match a regular expression entirely.
    @attached(peer)
    public macro Guide<RegexOutput>(description: String? = nil, _ guides: Regex<RegexOutput>) =
        #externalMacro(module: "LocalLLMMacros", type: "GuideMacro")
#endif
