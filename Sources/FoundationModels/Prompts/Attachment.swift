public import Foundation
import LocalLLM

/// An image of a prompt.
public struct ImageAttachmentContent: Sendable, Equatable {
    let image: Transcript.ImageAttachment
}

/// Something other than text in a prompt, for models that were loaded with an image encoder
/// (`LocalModel.Configuration.imageEncoder`). `Content` is `ImageAttachmentContent`, the only kind.
///
///     try await session.respond {
///         "What is in this image?"
///         Attachment(imageURL: file)
///     }
public struct Attachment<Content> {
    private var segment: Transcript.AttachmentSegment

    /// Names it, so that the conversation can speak of it: the name stands in front of the image.
    public func label(_ label: String) -> Attachment<Content> {
        var labelled = self
        labelled.segment.label = label
        return labelled
    }
}

extension Attachment: Sendable where Content: Sendable {}

extension Attachment where Content == ImageAttachmentContent {
    /// - Parameter imageURL: A PNG, JPEG, WebP or GIF file. It is read when the prompt is answered.
    public init(imageURL: URL) { segment = .init(content: .image(.init(imageURL: imageURL))) }

    /// - Parameter imageData: The contents of a PNG, JPEG, WebP or GIF file.
    public init(imageData: Data) { segment = .init(content: .image(.init(data: imageData))) }
}

extension Attachment: PromptRepresentable, InstructionsRepresentable {
    public var promptRepresentation: Prompt { Prompt(parts: [.attachment(segment)]) }
    public var instructionsRepresentation: Instructions { Instructions(parts: [.attachment(segment)]) }
}

extension Transcript {
    /// Something other than text in an entry.
    public struct AttachmentSegment: Sendable, Equatable, Identifiable, CustomStringConvertible {
        /// Another one each time the attachment is in a prompt.
        public var id: String
        /// The file.
        public var content: Attachment
        /// The name that stands before the image in what the model reads, and that `ImageReference` uses; `nil`: none.
        public var label: String?

        /// For transcripts that an app writes itself; a prompt takes an `Attachment`.
        public init(id: String = UUID().uuidString, content: Attachment, label: String? = nil) {
            self.id = id
            self.content = content
            self.label = label
        }

        public var description: String { label.map { "(image \($0))" } ?? "(image)" }
    }

    /// A file of an entry.
    public enum Attachment: Sendable, Equatable {
        /// A picture, for models with an image encoder.
        case image(ImageAttachment)
    }

    /// A PNG, JPEG, WebP or GIF file.
    public struct ImageAttachment: Sendable, Equatable {
        /// Where the image came from; `nil` for one that was never a file.
        public let url: URL?
        private var contents: Data?

        /// - Parameter imageURL: A file. A session reads it when it answers the prompt, and keeps what it read.
        public init(imageURL: URL) {
            url = imageURL
            contents = nil
        }

        /// The contents of a file. They are decoded when the prompt is answered.
        public init(data: Data) {
            url = nil
            contents = data
        }

        init(url: URL?, contents: Data?) { (self.url, self.contents) = (url, contents) }

        /// The file's contents.
        ///
        /// - Throws: `SystemLanguageModel.Error.assetsUnavailable` for a file that cannot be read, or is larger than images may be.
        public var data: Data {
            get throws {
                if let contents { return contents }
                guard let url, url.isFileURL else {
                    throw Self.unreadable("expected the URL of a file, found \(url?.absoluteString ?? "none")")
                }
                let most = RGBImage.Limits().bytes
                let size = try? FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int
                guard let size, size <= most else {
                    throw Self.unreadable(
                        "\(url.path): " + (size.map { "\($0) bytes are more than \(most)" } ?? "no such file"))
                }
                do { return try Data(contentsOf: url) } catch {
                    throw Self.unreadable("\(url.path): \(error.localizedDescription)")
                }
            }
        }

        /// The same with its contents, whatever becomes of the file.
        func read() throws -> Self { Self(url: url, contents: try data) }

        private static func unreadable(_ reason: String) -> SystemLanguageModel.Error {
            .assetsUnavailable("An image cannot be read: \(reason)")
        }
    }
}

extension Transcript.Segment {
    var image: Transcript.ImageAttachment? {
        guard case .attachment(let segment) = self, case .image(let image) = segment.content else { return nil }
        return image
    }
}

extension [Transcript.Segment] {
    /// With the contents of all images.
    func readingImages() throws -> Self {
        try map { segment in
            guard case .attachment(var attachment) = segment, let image = segment.image else { return segment }
            attachment.content = .image(try image.read())
            return .attachment(attachment)
        }
    }
}

extension LocalModel {
    /// The images of a conversation, by the ids of their segments.
    func images(of transcript: Transcript) async throws -> [String: ModelImage] {
        var images: [String: ModelImage] = [:]
        for segment in transcript.flatMap(\.segments) {
            guard let image = segment.image else { continue }
            images[segment.id] = try await read(file: try image.data)
        }
        return images
    }
}
