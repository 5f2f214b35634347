public import Foundation

/// Client of the backend's image endpoints: `/dalle` generates images, `/vision` describes them.
public struct ImageService: Sendable {
    private let client: APIClient

    public init(_ client: APIClient) { self.client = client }

    /// - Returns: URL of the image, which may expire.
    public func generate(_ request: ImageRequest) async throws -> URL {
        let answer = try await client.post("/dalle", request, as: ImageAnswer.self)
        // Foundation of Swift 6.0 takes an empty text for an address.
        guard !answer.url.isEmpty, let url = URL(string: answer.url) else {
            throw client.unreadable("/dalle", "url: expected an address, found something else")
        }
        return url
    }

    /// Answers a question about an image.
    ///
    /// - Parameter image: A URL that the server can fetch, or a `data:` URL with the image.
    public func describe(_ image: URL, question: String) async throws -> String {
        let question = VisionQuestion(prompt: question, image: image.absoluteString)
        return try await client.post("/vision", question, as: VisionAnswer.self).content
    }
}

/// Body of a request to `/dalle`. See OpenAI's API reference, "Create image".
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
