import Foundation
import HTTP
import LocalLLM
import Wire

/// Gets the pictures that requests name by their web addresses, from servers on the public internet.
struct ImageFetcher: Sendable {
    /// Of one request.
    static let mostPictures = 16
    /// Of all pictures of one request. One of them may have as many as any picture.
    static let mostBytes = 64 << 20
    /// For all pictures of one request.
    static let patience: Duration = .seconds(30)

    /// Tests ask servers of this machine.
    var reach = ClientReach.publicAddresses

    /// Gets the pictures of one request, one after the other.
    struct Batch {
        private let reach: ClientReach
        private let deadline = ContinuousClock.now + patience
        private var count = 0
        private var bytes = 0

        init(_ fetcher: ImageFetcher) { reach = fetcher.reach }

        /// - Parameter field: Where the request names the picture.
        /// - Throws: `APIError`, which says why there is no picture; `CancellationError`.
        mutating func file(_ address: String, _ field: String) async throws -> Data {
            count += 1
            guard count <= mostPictures else {
                throw APIError.invalid(field, "is one of over \(mostPictures) pictures by web addresses")
            }
            guard let url = URL(string: address) else { throw APIError.invalid(field, "is no URL") }
            do {
                return try await file(url)
            } catch let error as ClientError {
                throw APIError.invalid(field, "the picture cannot be fetched: \(error)")
            } catch let error as Refused {
                throw APIError.invalid(field, "the picture cannot be fetched: \(error.reason)")
            }
        }

        private mutating func file(_ url: URL) async throws -> Data {
            var limits = HTTPClient.Limits()
            limits.whole = min(.seconds(20), max(.zero, ContinuousClock.now.duration(to: deadline)))
            limits.silence = .seconds(10)
            let (answer, _) = try await HTTPClient.get(
                url, limits: limits, reach: reach,
                headers: { _ in ["Accept": "image/png, image/jpeg, image/webp", "User-Agent": "LocalLLM"] },
                redirect: { _, _, _ in })
            guard answer.status == 200 else { throw Refused(reason: "the server answered \(answer.status)") }
            let most = min(RGBImage.Limits().bytes, mostBytes - bytes)
            var file = Data()
            while let piece = try await answer.next() {
                guard file.count + piece.count <= most else {
                    throw Refused(reason: "it has over \(most) bytes, the most that are left for it")
                }
                file += piece
            }
            bytes += file.count
            return file
        }
    }

    private struct Refused: Error { let reason: String }
}

extension Services {
    /// The request with the pictures that it names by web addresses, if this server looks at them.
    func fetchingImages(of body: ChatCompletionRequest) async throws -> ChatCompletionRequest {
        guard seesImages, let imageFetcher else { return body }
        var (batch, body) = (ImageFetcher.Batch(imageFetcher), body)
        for index in body.fields.messages.indices {
            body.fields.messages[index].content = try await body.fields.messages[index].content?
                .fetchingImages("messages[\(index)].content", &batch)
        }
        return body
    }

    func fetchingImages(of body: ResponseRequest) async throws -> ResponseRequest {
        guard seesImages, let imageFetcher, case .items(var items) = body.fields.input else { return body }
        var (batch, body) = (ImageFetcher.Batch(imageFetcher), body)
        for index in items.indices {
            items[index].content = try await items[index].content?.fetchingImages("input[\(index)].content", &batch)
        }
        body.fields.input = .items(items)
        return body
    }

    func fetchingImages(of body: MessagesRequest) async throws -> MessagesRequest {
        guard seesImages, let imageFetcher else { return body }
        var (batch, body) = (ImageFetcher.Batch(imageFetcher), body)
        for index in body.messages.indices {
            guard case .blocks(var blocks) = body.messages[index].content else { continue }
            for block in blocks.indices {
                guard let source = blocks[block].source, source.type == "url", let url = source.url else { continue }
                let field = "messages[\(index)].content[\(block)].source.url"
                blocks[block].source = .init(data: try await batch.file(url, field))
            }
            body.messages[index].content = .blocks(blocks)
        }
        return body
    }
}

extension MessageContent {
    fileprivate func fetchingImages(_ field: String, _ batch: inout ImageFetcher.Batch) async throws -> Self {
        try await mapImageURLs { part, url in
            guard url.isRemote else { return url }
            let file = try await batch.file(url.url, "\(field)[\(part)].image_url")
            return ImageURL(url: "data:image/png;base64,\(file.base64EncodedString())")
        }
    }
}
