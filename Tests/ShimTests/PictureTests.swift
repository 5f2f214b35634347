import Foundation
import LocalLLM
import TestSupport
import Testing
import Wire

@testable import Shim

/// Pictures that a model of this server looks at, in every form in which they come.
@Suite(.timeLimit(.minutes(5))) struct PictureTests {
    /// Thirteen by nine pixels.
    private static let png =
        "iVBORw0KGgoAAAANSUhEUgAAAA0AAAAJBAMAAAAbVLtZAAAAGFBMVEWrxLCrfpUwxGkwfk2rOHmrAGMwODIwABwzCqdbAAAANklEQVR4nD3KwQmAMAwAwLNkZ6cUnKArJH8t8VHweXDHyeQJXbreSBKDxbrjYm6D6CIZ9T/wATCBElRjQSGCAAAAAElFTkSuQmCC"

    private func services() async throws -> Services {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let model = try await LocalModel.load(
            from: try TinyModel().write(in: directory),
            configuration: .init(imageEncoder: try TinyEyes().write(in: directory)))
        var services = router(model)
        services.seesImages = true
        return services
    }

    /// "What?", the markers around the picture byte by byte, and its tokens.
    private static let leastTokens = 5 + "<start_of_image><end_of_image>".utf8.count + TinyEyes().tokens

    @Test func `pictures come as parts of messages, of responses and as blocks`() async throws {
        let services = try await services()
        let url = "data:image/png;base64,\(Self.png)"
        let chat = await services.chat(
            messages:
                #"{"role":"user","content":[{"type":"text","text":"What?"},{"type":"image_url","image_url":{"url":"\#(url)"}}]}"#
        )
        #expect(chat.status == 200)
        let usage = try #require(chat.json["usage"] as? [String: Any])
        #expect(try #require(usage["prompt_tokens"] as? Int) > Self.leastTokens)
        let response = await services.answer(
            "POST", "/v1/responses",
            #"{"model":"Test-Q4","max_output_tokens":3,"input":[{"role":"user","content":[{"type":"input_text","text":"What?"},{"type":"input_image","image_url":"\#(url)"}]}]}"#
        )
        #expect(response.status == 200)
        let counted = await services.answer(
            "POST", "/v1/messages/count_tokens",
            #"{"model":"Test-Q4","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"\#(Self.png)"}},{"type":"text","text":"What?"}]}]}"#
        )
        #expect(counted.status == 200)
        #expect(try #require(counted.json["input_tokens"] as? Int) > Self.leastTokens)
        let vision = await services.answer("POST", "/vision", #"{"prompt":"What?","image":"\#(Self.png)"}"#)
        #expect(vision.status == 200)
    }

    @Test(arguments: [
        ("http://127.0.0.1:1/x.png", "messages[0].content[0].image_url", "invalid_value"),
        ("data:image/png;base64,####", "messages[0].content[0].image_url", "invalid_value"),
        ("data:image/gif;base64,R0lGODlhAQABAAAAACw=", "messages", "invalid_image"),
        ("data:image/png;base64,iVBORw0KGgoAAAA=", "messages", "invalid_image"),
    ])
    func `what cannot be read is refused, naming the place`(_ url: String, _ param: String, _ code: String) async throws
    {
        let refused = try await services().chat(
            messages: #"{"role":"user","content":[{"type":"image_url","image_url":{"url":"\#(url)"}}]}"#)
        #expect(refused.status == 400)
        #expect(refused.error["param"] as? String == param)
        #expect(refused.error["code"] as? String == code)
    }

    @Test func `text that looks like a picture is none`() async throws {
        let services = try await services()
        let url = "data:image/png;base64,\(Self.png)"
        let chat = await services.chat(
            messages:
                #"{"role":"user","content":[{"type":"text","text":"\#u{FFFC}\#u{FFFC}"},{"type":"image_url","image_url":{"url":"\#(url)"}}]},{"role":"user","content":"\#u{FFFC}"}"#
        )
        #expect(chat.status == 200)
    }
}
