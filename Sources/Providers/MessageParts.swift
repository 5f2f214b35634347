package import Foundation
package import LocalLLM

extension ChatMessage {
    package enum Part {
        case text(String)
        /// A PNG, JPEG, WebP or GIF file.
        case image(Data)
    }

    /// The text with the images in their places. Texts that are empty but for line breaks are left out beside images.
    package var parts: [Part] {
        guard let images, !images.isEmpty else { return [.text(content)] }
        var parts: [Part] = []
        for (index, text) in content.split(separator: Self.imagePlaceholder, omittingEmptySubsequences: false)
            .enumerated()
        {
            if index > 0, images.indices.contains(index - 1) { parts.append(.image(images[index - 1])) }
            let text = text.trimmingCharacters(in: .newlines)
            if !text.isEmpty { parts.append(.text(text)) }
        }
        return parts
    }
}

extension ChatMessage.Part {
    /// `nil` for an image.
    var text: String? { if case .text(let text) = self { text } else { nil } }
}

extension Data {
    /// The subtype of an image's media type, by the first bytes of its file.
    var imageType: String {
        starts(with: [0x89, 0x50])
            ? "png" : starts(with: Array("RIFF".utf8)) ? "webp" : starts(with: Array("GIF8".utf8)) ? "gif" : "jpeg"
    }

    /// An image's file as a `data:` URL (RFC 2397).
    package var imageDataURL: String { "data:image/\(imageType);base64,\(base64EncodedString())" }
}
