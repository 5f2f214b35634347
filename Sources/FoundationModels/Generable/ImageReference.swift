/// An image of the conversation that an answer speaks of, by the label of its attachment.
public struct ImageReference: Sendable, Equatable {
    /// The label of the image that is meant: the model chose it among those it read.
    public let attachmentLabel: String
}

extension ImageReference {
    /// The last image of the transcript with this label.
    public func resolve(in transcript: Transcript) -> Transcript.ImageAttachment? {
        transcript.reversed().lazy.flatMap { $0.segments.reversed() }.compactMap { segment in
            guard case .attachment(let attachment) = segment, attachment.label == attachmentLabel else { return nil }
            return segment.image
        }.first
    }
}

extension ImageReference: Generable {
    /// A partially generated reference, as streams deliver it.
    public struct PartiallyGenerated: Identifiable, ConvertibleFromGeneratedContent, Equatable {
        /// The same in all snapshots of one reference.
        public var id: GenerationID
        /// The label as far as it has been generated.
        public var attachmentLabel: String.PartiallyGenerated?

        public init(_ content: GeneratedContent) throws {
            id = content.id ?? GenerationID()
            attachmentLabel = try content.value(forProperty: "attachmentLabel")
        }
    }

    public static var generationSchema: GenerationSchema {
        GenerationSchema(
            type: Self.self, description: "An image of the conversation",
            properties: [
                .init(name: "attachmentLabel", description: "The label that stands before the image", type: String.self)
            ])
    }

    public var generatedContent: GeneratedContent { GeneratedContent(properties: ["attachmentLabel": attachmentLabel]) }

    public init(_ content: GeneratedContent) throws {
        attachmentLabel = try content.value(forProperty: "attachmentLabel")
    }
}
