import Foundation
import HTTP
import LocalLLM
import Wire

/// Fetches images that requests name by `http` or `https` URLs, from servers on the public internet.
struct ImageFetcher: Sendable {
    /// Maximum images per request.
    static let mostImages = 16
    /// Maximum bytes of all images of a request together. A single image has the limit of any image.
    static let mostBytes = 64 << 20
    /// Time limit for all images of a request together.
    static let patience: Duration = .seconds(30)

    /// Tests use servers of this machine.
    var reach = ClientReach.publicAddresses
    let held = HeldBytes()

    /// Fetches the images of one request, one after the other.
    struct Batch {
        private let reach: ClientReach
        private let held: HeldBytes.Share
        private let deadline = ContinuousClock.now + patience
        private var count = 0
        private var bytes = 0

        /// - Parameter held: The request's part of the bytes that all requests hold.
        init(_ fetcher: ImageFetcher, _ held: HeldBytes.Share) { (reach, self.held) = (fetcher.reach, held) }

        /// - Parameter field: Path of the URL in the request, for errors.
        /// - Throws: `APIError` with the reason; `CancellationError`.
        mutating func file(_ address: String, _ field: String) async throws -> Data {
            count += 1
            guard count <= mostImages else {
                throw APIError.invalid(field, "expected at most \(mostImages) images given by http(s) URLs")
            }
            guard let url = URL(string: address) else { throw APIError.invalid(field, "expected a URL") }
            do {
                return try await file(url)
            } catch let error as ClientError {
                throw APIError.invalid(field, "the image cannot be fetched: \(error)")
            } catch let error as Refused {
                throw APIError.invalid(field, "the image cannot be fetched: \(error.reason)")
            }
        }

        private mutating func file(_ url: URL) async throws -> Data {
            var limits = HTTPClient.Limits()
            limits.whole = min(.seconds(20), max(.zero, ContinuousClock.now.duration(to: deadline)))
            limits.silence = .seconds(10)
            let (answer, _) = try await HTTPClient.get(
                url, limits: limits, reach: reach,
                headers: { _ in ["Accept": "image/png, image/jpeg, image/webp, image/gif", "User-Agent": "LocalLLM"] },
                redirect: { _, _, _ in })
            guard answer.status == 200 else {
                throw Refused(reason: "the server answered with status \(answer.status)")
            }
            let most = min(RGBImage.Limits().bytes, mostBytes - bytes)
            var file = Data()
            while let piece = try await answer.next() {
                guard file.count + piece.count <= most else {
                    throw Refused(reason: "it has over \(most) bytes, the limit for this image")
                }
                try held.add(piece.count)
                file += piece
            }
            bytes += file.count
            return file
        }
    }

    private struct Refused: Error { let reason: String }
}

extension Services {
    /// The request with its `http(s)` image URLs replaced by the images, if this server reads images and fetches them.
    func fetchingImages<Body: NamesImages>(of body: Body, _ context: RequestContext) async throws -> Body {
        guard models.seesImages(body.model), let imageFetcher else { return body }
        let held = imageFetcher.held.part(of: context.client)
        context.trace.keep(held)
        var (batch, body) = (ImageFetcher.Batch(imageFetcher, held), body)
        try await body.replaceImageURLs { url, field in try await batch.file(url, field) }
        return body
    }
}

/// A request that may give images by `http(s)` URLs.
protocol NamesImages {
    /// The model that the request names.
    var model: String? { get }
    /// Replaces each such URL by the image's file.
    ///
    /// - Parameter fetch: Returns the file; takes the URL and its path in the request.
    mutating func replaceImageURLs(_ fetch: (_ url: String, _ field: String) async throws -> Data) async throws
}

extension GenerationRequest: NamesImages where Fields: NamesImages {
    var model: String? { fields.model }

    mutating func replaceImageURLs(_ fetch: (String, String) async throws -> Data) async throws {
        try await fields.replaceImageURLs(fetch)
    }
}

extension ChatFields: NamesImages {
    mutating func replaceImageURLs(_ fetch: (String, String) async throws -> Data) async throws {
        for index in messages.indices {
            try await messages[index].content?.replaceImageURLs("messages[\(index)].content", fetch)
        }
    }
}

extension ResponseFields: NamesImages {
    mutating func replaceImageURLs(_ fetch: (String, String) async throws -> Data) async throws {
        try await input.replaceImageURLs(fetch)
    }
}

extension DecisionRequest: NamesImages {
    mutating func replaceImageURLs(_ fetch: (String, String) async throws -> Data) async throws {
        try await input.replaceImageURLs(fetch)
        for index in questions.indices {
            try await questions[index].instructions.replaceImageURLs("questions[\(index)].instructions", fetch)
        }
    }
}

extension ResponseInput {
    fileprivate mutating func replaceImageURLs(_ fetch: (String, String) async throws -> Data) async throws {
        guard case .items(var items) = self else { return }
        for index in items.indices {
            try await items[index].content?.replaceImageURLs("input[\(index)].content", fetch)
            try await items[index].output?.replaceImageURLs("input[\(index)].output", fetch)
        }
        self = .items(items)
    }
}

extension MessagesFields: NamesImages {
    mutating func replaceImageURLs(_ fetch: (String, String) async throws -> Data) async throws {
        for index in messages.indices {
            try await messages[index].content.replaceImageURLs("messages[\(index)].content", fetch)
        }
    }
}

extension MessagesFields.Content {
    fileprivate mutating func replaceImageURLs(
        _ path: String, _ fetch: (String, String) async throws -> Data
    ) async throws {
        guard case .blocks(var blocks) = self else { return }
        for index in blocks.indices {
            let path = "\(path)[\(index)]"
            try await blocks[index].content?.replaceImageURLs("\(path).content", fetch)
            try await blocks[index].source?.content?.replaceImageURLs("\(path).source.content", fetch)
            guard blocks[index].type == "image", let source = blocks[index].source, source.type == "url",
                let url = source.url
            else { continue }
            blocks[index].source = .init(data: try await fetch(url, "\(path).source.url"))
        }
        self = .blocks(blocks)
    }
}

extension MessageContent {
    fileprivate mutating func replaceImageURLs(
        _ field: String, _ fetch: (String, String) async throws -> Data
    ) async throws {
        guard case .parts(var parts) = self else { return }
        for index in parts.indices {
            guard let url = parts[index].imageURL, url.isRemote else { continue }
            let file = try await fetch(url.url, "\(field)[\(index)].image_url")
            parts[index].imageURL = .init(url: "data:image/png;base64,\(file.base64EncodedString())")
        }
        self = .parts(parts)
    }
}
