/// A type whose values a model can generate.
///
/// Attach `@Generable` to a structure or an enumeration; the macro writes everything that this asks for. Of a structure all
/// stored properties must be `Generable` or optionals of such.
public protocol Generable: ConvertibleFromGeneratedContent, ConvertibleToGeneratedContent {
    /// A value of which only the beginning is there, as streams show it.
    associatedtype PartiallyGenerated: ConvertibleFromGeneratedContent = Self

    /// What values look like as JSON.
    static var generationSchema: GenerationSchema { get }
}

extension Generable {
    /// The value as streams show it.
    public func asPartiallyGenerated() -> PartiallyGenerated {
        do {
            return try PartiallyGenerated(generatedContent)
        } catch {
            preconditionFailure("\(Self.self): its own content is no \(PartiallyGenerated.self): \(error)")
        }
    }
}

/// What can be made of generated content.
public protocol ConvertibleFromGeneratedContent: SendableMetatype {
    /// - Throws: `LanguageModelSession.GenerationError.decodingFailure` where the content is something else.
    init(_ content: GeneratedContent) throws
}

/// What can be written as generated content; in prompts and instructions it stands as JSON.
public protocol ConvertibleToGeneratedContent: InstructionsRepresentable, PromptRepresentable {
    var generatedContent: GeneratedContent { get }
}

extension ConvertibleToGeneratedContent {
    public var instructionsRepresentation: Instructions { Instructions(parts: [generatedContent.jsonString]) }
    public var promptRepresentation: Prompt { Prompt(parts: [generatedContent.jsonString]) }
}

#if LOCALLLM_MACROS
    /// Makes a structure or an enumeration `Generable`.
    ///
    /// - Parameter description: What the type means; the model reads it.
    @attached(extension, conformances: Generable, names: named(init(_:)))
    @attached(member, names: named(generationSchema), named(generatedContent), named(PartiallyGenerated))
    public macro Generable(description: String? = nil) =
        #externalMacro(module: "LocalLLMMacros", type: "GenerableMacro")

    /// Tells the model what a property means.
    @attached(peer)
    public macro Guide(description: String) = #externalMacro(module: "LocalLLMMacros", type: "GuideMacro")

    /// Tells the model what a property means, and limits its values: they are enforced, not only asked for.
    @attached(peer)
    public macro Guide<Value: Generable>(description: String? = nil, _ guides: GenerationGuide<Value>...) =
        #externalMacro(module: "LocalLLMMacros", type: "GuideMacro")

    /// Tells the model what a property means, and limits it to texts that match a regular expression as a whole.
    @attached(peer)
    public macro Guide<RegexOutput>(description: String? = nil, _ guides: Regex<RegexOutput>) =
        #externalMacro(module: "LocalLLMMacros", type: "GuideMacro")
#endif
