public import Foundation

extension Transcript {
    /// A part of an entry.
    public enum Segment: Sendable, Identifiable {
        /// Text, as the user or the model wrote it.
        case text(TextSegment)
        /// A value of a type.
        case structure(StructuredSegment)
        /// An image, in prompts and instructions.
        case attachment(AttachmentSegment)
        /// A value of a type of the app.
        case custom(any CustomSegment)

        /// The id of the segment inside; kept when the transcript is saved.
        public var id: String {
            switch self {
            case .text(let segment): segment.id
            case .structure(let segment): segment.id
            case .attachment(let segment): segment.id
            case .custom(let segment): segment.id
            }
        }
    }

    /// Text of an entry.
    public struct TextSegment: Sendable, Equatable, Identifiable {
        /// Kept when the transcript is saved.
        public var id: String
        /// The text without marks of a chat template.
        public var content: String

        /// Text for a transcript that an app writes itself.
        public init(id: String = UUID().uuidString, content: String) {
            self.id = id
            self.content = content
        }
    }

    /// A part of an entry that an app or a provider defines: citations, a place on a map. Models that know nothing of it
    /// read its description; an executor finds the value itself in the transcript.
    ///
    /// In a decoded transcript, whose types are not known, it is a segment with the same description and content.
    public protocol CustomSegment: InstructionsRepresentable, PromptRepresentable, CustomStringConvertible, Equatable,
        Identifiable, Sendable
    {
        /// What the transcript's JSON stores of the segment.
        associatedtype Content: Decodable, Encodable, Equatable, Sendable
        /// Distinguishes the segment from others of the transcript.
        var id: String { get }
        /// The value that a provider or the app reads.
        var content: Content { get }
    }
}

extension Transcript.CustomSegment {
    public var promptRepresentation: Prompt { Prompt(parts: [.custom(self)]) }
    public var instructionsRepresentation: Instructions { Instructions(parts: [.custom(self)]) }

    /// The content as JSON.
    public var description: String {
        guard let json = try? JSONEncoder.sorted.encode(content) else { return "\(content)" }
        return String(decoding: json, as: UTF8.self)
    }
}

extension Transcript.Segment: Equatable {
    public static func == (one: Self, other: Self) -> Bool {
        switch (one, other) {
        case (.text(let one), .text(let other)): one == other
        case (.structure(let one), .structure(let other)): one == other
        case (.attachment(let one), .attachment(let other)): one == other
        case (.custom(let one), .custom(let other)):
            one.id == other.id && one.description == other.description && one.stored == other.stored
        default: false
        }
    }
}

extension Transcript.CustomSegment {
    /// The segment as a decoded transcript has it.
    var stored: StoredSegment { StoredSegment(id: id, content: EncodedValue(content), description: description) }
}

/// A custom segment whose type is not known.
struct StoredSegment: Transcript.CustomSegment {
    let id: String
    let content: EncodedValue
    let description: String
    var stored: StoredSegment { self }
}
