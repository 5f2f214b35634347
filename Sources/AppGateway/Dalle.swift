import HTTP
import JSON
import Shim
import Wire

/// `POST /dalle`: generates one image for the chat app and returns its URL.
@Sendable func answerWithImage(_ context: RequestContext, _ services: Services) async throws -> Response {
    let upstream = try services.upstream(for: "Images")
    let image = try JSON.decode(DalleRequest.self, from: context.body)
    guard image.count == nil || image.count?.value == 1 else {
        throw APIError.invalid("n", "expected 1, since the answer has one url")
    }
    let answer = try await upstream.whole(.images, try JSON.encode(image.withDefaults), context.trace)
    let images = try? JSON.decode(ImageList.self, from: answer).data
    guard let address = images?.first?.address else {
        throw APIError.upstream("The upstream API's answer has no image.")
    }
    return try .json(["url": address])
}

private struct DalleRequest: Codable {
    var prompt: String
    var model: String?
    var count: WholeNumber?
    var quality: String?
    var responseFormat: String?
    var size: String?
    var style: String?

    enum CodingKeys: String, CodingKey {
        case prompt, model, quality, size, style
        case count = "n"
        case responseFormat = "response_format"
    }

    /// The request with the app's defaults for missing fields.
    var withDefaults: [String: JSON] {
        [
            "prompt": .string(prompt), "model": .string(model ?? "dall-e-3"), "n": .number(1),
            "quality": .string(quality ?? "hd"), "response_format": .string(responseFormat ?? "url"),
            "size": .string(size ?? "1024x1024"), "style": .string(style ?? "natural"),
        ]
    }
}

private struct ImageList: Decodable {
    struct Image: Decodable {
        let url: String?
        let base64: String?

        enum CodingKeys: String, CodingKey {
            case url
            case base64 = "b64_json"
        }

        /// URL of the image; base64 becomes a `data:` URL. `nil` for other schemes, which the app must not open.
        var address: String? {
            url.flatMap { ImageAddress.isOne($0) ? $0 : nil } ?? base64.flatMap(ImageAddress.holding)
        }
    }

    let data: [Image]
}
