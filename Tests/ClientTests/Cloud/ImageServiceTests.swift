import Foundation
import HTTP
import Testing

@testable import Client

@Suite("Images")
struct ImageServiceTests {
    private func bodies(_ answer: String, _ call: (ImageService) async throws -> Void) async throws -> [String] {
        let backend = FakeBackend { _ in .json(answer) }
        try await withServer(backend.handle) { url in try await call(ImageService(APIClient(url))) }
        #expect(backend.refusals == [])
        return backend.requests.dropFirst().map {
            "\($0.target) \(String(decoding: $0.body.bytes ?? [], as: UTF8.self))"
        }
    }

    @Test
    func `an image is asked for with the contract's defaults`() async throws {
        let bodies = try await bodies(#"{"url": "https://example.com/a.png"}"#) { service in
            let url = try await service.generate(ImageRequest(prompt: "a fox"))
            #expect(url.absoluteString == "https://example.com/a.png")
        }
        #expect(
            bodies == [
                #"/dalle {"model":"dall-e-3","n":1,"prompt":"a fox","quality":"hd","response_format":"url","#
                    + #""size":"1024x1024","style":"natural"}"#
            ])
    }

    @Test
    func `what is no address is no image`() async throws {
        _ = try await bodies(#"{"url": ""}"#) { service in
            await #expect(throws: APIClientError.decode) { try await service.generate(ImageRequest(prompt: "a fox")) }
        }
    }

    @Test
    func `a question about an image`() async throws {
        let image = try #require(URL(string: "data:image/png;base64,iVBORw0KGgo="))
        let bodies = try await bodies(#"{"role": "assistant", "content": "A fox."}"#) { service in
            let text = try await service.describe(image, question: "What is it?")
            #expect(text == "A fox.")
        }
        #expect(bodies == [#"/vision {"image":"data:image/png;base64,iVBORw0KGgo=","prompt":"What is it?"}"#])
    }
}
