import Foundation
import LocalLLM

extension ChatMessage {
    enum Part {
        case text(String)
        /// A PNG, JPEG, WebP or GIF file.
        case image(Data)
    }

    /// The text with the images in their places. Texts that are empty but for line breaks are left out beside images.
    var parts: [Part] {
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

extension Data {
    /// An image's file as a `data:` URL (RFC 2397).
    package var imageDataURL: String {
        let type =
            starts(with: [0x89, 0x50])
            ? "png" : starts(with: Array("RIFF".utf8)) ? "webp" : starts(with: Array("GIF8".utf8)) ? "gif" : "jpeg"
        return "data:image/\(type);base64,\(base64EncodedString())"
    }
}
