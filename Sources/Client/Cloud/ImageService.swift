public import Foundation

/// The chat app's backend for pictures: `/dalle` draws them, `/vision` looks at them.
public struct ImageService: Sendable {
    private let client: APIClient

    public init(_ client: APIClient) { self.client = client }

    /// - Returns: Where the picture is, for a while.
    public func generate(_ request: ImageRequest) async throws -> URL {
        let answer = try await client.post("/dalle", request, as: ImageAnswer.self)
        guard let url = URL(string: answer.url) else {
            throw client.unreadable("/dalle", "url: expected an address, found something else")
        }
        return url
    }

    /// Answers a question about a picture.
    ///
    /// - Parameter image: An address that the server can fetch, or the picture itself as a `data:` URL.
    public func describe(_ image: URL, question: String) async throws -> String {
        let question = VisionQuestion(prompt: question, image: image.absoluteString)
        return try await client.post("/vision", question, as: VisionAnswer.self).content
    }
}

/// What to draw, and how.
public struct ImageRequest: Encodable, Sendable {
    public var prompt: String
    public var model: String
    public var n: Int
    public var quality: String
    public var responseFormat: String
    public var size: String
    public var style: String

    public init(
        prompt: String, model: String = "dall-e-3", n: Int = 1, quality: String = "hd", responseFormat: String = "url",
        size: String = "1024x1024", style: String = "natural"
    ) {
        self.prompt = prompt
        self.model = model
        self.n = n
        self.quality = quality
        self.responseFormat = responseFormat
        self.size = size
        self.style = style
    }

    enum CodingKeys: String, CodingKey {
        case prompt, model, n, quality, size, style
        case responseFormat = "response_format"
    }
}

private struct ImageAnswer: Decodable { let url: String }

private struct VisionQuestion: Encodable {
    let prompt: String
    let image: String
}

private struct VisionAnswer: Decodable { let content: String }
