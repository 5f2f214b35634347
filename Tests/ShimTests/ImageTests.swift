import Foundation
import HTTP
import LocalLLM
import Synchronization
import TestSupport
import Testing
import Wire

@testable import AppGateway
@testable import Shim

/// Images that a model of this server looks at, in every form in which they come.
@Suite(.timeLimit(.minutes(5))) struct ImageTests {
    /// Thirteen by nine pixels.
    private static let png =
        "iVBORw0KGgoAAAANSUhEUgAAAA0AAAAJBAMAAAAbVLtZAAAAGFBMVEWrxLCrfpUwxGkwfk2rOHmrAGMwODIwABwzCqdbAAAANklEQVR4nD3KwQmAMAwAwLNkZ6cUnKArJH8t8VHweXDHyeQJXbreSBKDxbrjYm6D6CIZ9T/wATCBElRjQSGCAAAAAElFTkSuQmCC"

    private func services() async throws -> Services {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let model = try await LocalModel.load(
            from: try TinyModel().write(in: directory),
            configuration: .init(imageEncoder: try TinyVision().write(in: directory)))
        return router(model, seesImages: true)
    }

    /// "What?", the markers around the image byte by byte, and its tokens.
    private static let leastTokens = 5 + "<start_of_image><end_of_image>".utf8.count + TinyVision().tokens

    @Test func `images come as parts of messages, of responses and as blocks`() async throws {
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

    @Test func `images in the results of tools are seen`() async throws {
        let services = try await services()
        let response = await services.answer(
            "POST", "/v1/responses/input_tokens",
            #"""
            {"model": "Test-Q4", "input": [{"role": "user", "content": "Look"},
            {"type": "function_call", "call_id": "c", "name": "shot", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "What?"},
            {"type": "input_image", "image_url": "data:image/png;base64,\#(Self.png)"}]}]}
            """#)
        #expect(response.status == 200, "\(response.text)")
        #expect(try #require(response.json["input_tokens"] as? Int) > Self.leastTokens)
        let image = #"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"\#(Self.png)"}}"#
        let counted = await services.answer(
            "POST", "/v1/messages/count_tokens",
            #"""
            {"model": "Test-Q4", "messages": [{"role": "user", "content": "Look"}, {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "shot", "input": {}}]}, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "What?"}, \#(image)]},
            {"type": "document", "source": {"type": "content", "content": [\#(image)]}}]}]}
            """#)
        #expect(counted.status == 200, "\(counted.text)")
        #expect(try #require(counted.json["input_tokens"] as? Int) > Self.leastTokens + TinyVision().tokens)
    }

    @Test func `where the API has no images, the error says so and not that the server sees none`() async throws {
        let services = try await services()
        let image = #"[{"type":"image_url","image_url":{"url":"data:image/png;base64,\#(Self.png)"}}]"#
        let tool = await services.chat(messages: #"{"role":"tool","tool_call_id":"c","content":\#(image)}"#)
        #expect(tool.status == 400 && tool.error["param"] as? String == "messages[0].content[0].type")
        #expect((tool.error["message"] as? String)?.contains("text only") == true)
        let system = await services.chat(messages: #"{"role":"system","content":\#(image)}"#)
        #expect((system.error["message"] as? String)?.contains("only user messages") == true)
        let blind = await router(ScriptedLanguageModel()).chat(messages: #"{"role":"user","content":\#(image)}"#)
        #expect((blind.error["message"] as? String)?.contains("--mmproj") == true)
    }

    @Test func `a body with an image may be as large as the image`() async throws {
        let body = #"{"model":"Test-Q4","messages":[{"role":"user","content":"Hi"}]}"#
        let long = body + String(repeating: " ", count: 9_200_000)
        #expect(await router(ScriptedLanguageModel()).answer("POST", "/v1/chat/completions", long).status == 413)
        let services = router(ScriptedLanguageModel(), seesImages: true)
        #expect(await services.answer("POST", "/v1/chat/completions", long).status == 200)
        let file = RGBImage.Limits().bytes
        for (path, takesImages) in [
            ("/v1/chat/completions", true), ("/v1/responses", true), ("/v1/responses/input_tokens", true),
            ("/v1/messages", true), ("/v1/messages/count_tokens", true), ("/vision", true),
            ("/v1/completions", false), ("/v1/embeddings", false),
        ] {
            let match = RouteTable.all.match(Request(method: "POST", target: path, path: path))
            guard case .route(let route, _) = match else { throw APIError.nothing(at: path) }
            let seeing = route.bodyLimit(seesImages: true)
            #expect((seeing >= file / 3 * 4 + 8 << 20) == takesImages)
            #expect(seeing < file / 3 * 4 + 9 << 20)
            #expect(route.bodyLimit(seesImages: false) == 8 << 20)
        }
    }

    @Test func `an image is found in the cache only by requests with the same salt and client`() async throws {
        let directory = try TemporaryDirectory()
        let model = try await LocalModel.load(
            from: try TinyModel().write(in: directory),
            configuration: .init(imageEncoder: try TinyVision().write(in: directory)))
        let services = router(model, seesImages: true)
        let image = #"{"type":"input_image","image_url":"data:image/png;base64,\#(Self.png)"}"#
        for (salt, count) in [("", 1), (#","cache_salt":"a""#, 2), (#","cache_salt":"b""#, 3), ("", 3)] {
            let message = Self.chat("data:image/png;base64,\(Self.png)")
            let chat = await services.answer(
                "POST", "/v1/chat/completions",
                #"{"model":"Test-Q4","max_tokens":2,"messages":[\#(message)]\#(salt)}"#)
            #expect(chat.status == 200, "\(chat.text)")
            #expect(model.encodedImages == count)
            for path in ["", "/input_tokens"] {
                let response = await services.answer(
                    "POST", "/v1/responses" + path,
                    #"{"model":"Test-Q4","input":[{"role":"user","content":[\#(image)]}]\#(salt)}"#)
                #expect(response.status == 200, "\(response.text)")
                #expect(model.encodedImages == count)
            }
        }
    }

    @Test func `images that requests fetch are bounded together, until the requests end`() throws {
        let held = HeldBytes(all: 100, client: 60)
        var first: HeldBytes.Share? = held.part(of: "a")
        let (other, third) = (held.part(of: "a"), held.part(of: "b"))
        try first?.add(40)
        try other.add(20)
        #expect(throws: APIError.self) { try other.add(1) }
        try third.add(40)
        #expect(throws: APIError.self) { try third.add(1) }
        first = nil
        try third.add(20)
        try other.add(20)
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

    @Test func `text that looks like an image is none`() async throws {
        let services = try await services()
        let url = "data:image/png;base64,\(Self.png)"
        let chat = await services.chat(
            messages:
                #"{"role":"user","content":[{"type":"text","text":"\#u{FFFC}\#u{FFFC}"},{"type":"image_url","image_url":{"url":"\#(url)"}}]},{"role":"user","content":"\#u{FFFC}"}"#
        )
        #expect(chat.status == 200)
    }

    // MARK: Images by web addresses

    /// Serves an image, and what is none, to whoever may ask this machine.
    private func withHost(_ body: (_ address: String, _ asked: @Sendable () -> [String]) async throws -> Void)
        async throws
    {
        let asked = Mutex<[String]>([])
        let image = try #require(Data(base64Encoded: Self.png))
        let host = try await Server.start(.init(host: "127.0.0.1", port: 0)) { request in
            asked.withLock { $0.append(request.path) }
            switch request.path {
            case "/a.png": return Response(status: 200, body: .bytes(Array(image)))
            case "/moved": return Response(status: 302, headers: ["Location": "/a.png"])
            case "/large": return Response(status: 200, body: .bytes(Array(repeating: 0, count: (32 << 20) + 1)))
            default: return Response(status: 404)
            }
        }
        try await body("http://127.0.0.1:\(host.port)", { asked.withLock { $0 } })
        await host.stop(within: .zero)
    }

    private static func chat(_ urls: String...) -> String {
        let parts = urls.map { #"{"type":"image_url","image_url":{"url":"\#($0)"}}"# }
        return #"{"role":"user","content":[\#(parts.joined(separator: ",")),{"type":"text","text":"What?"}]}"#
    }

    @Test func `images are fetched where that is allowed, after redirects too`() async throws {
        var services = try await services()
        services.imageFetcher = ImageFetcher(reach: .everywhere)
        try await withHost { address, asked in
            let inline = await services.chat(messages: Self.chat("data:image/png;base64,\(Self.png)"))
            for path in ["/a.png", "/moved"] {
                let chat = await services.chat(messages: Self.chat(address + path))
                #expect(chat.status == 200)
                #expect(
                    (chat.json["usage"] as? [String: Any])?["prompt_tokens"] as? Int
                        == (inline.json["usage"] as? [String: Any])?["prompt_tokens"] as? Int)
            }
            let response = await services.answer(
                "POST", "/v1/responses",
                #"{"model":"Test-Q4","max_output_tokens":3,"input":[{"role":"user","content":[{"type":"input_image","image_url":"\#(address)/a.png"}]}]}"#
            )
            #expect(response.status == 200)
            let message = await services.answer(
                "POST", "/v1/messages",
                #"{"model":"Test-Q4","max_tokens":3,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"\#(address)/a.png"}},{"type":"text","text":"What?"}]}]}"#
            )
            #expect(message.status == 200)
            let vision = await services.answer("POST", "/vision", #"{"prompt":"What?","image":"\#(address)/a.png"}"#)
            #expect(vision.status == 200)
            #expect(asked().count == 6)
        }
    }

    @Test func `what cannot be fetched is refused, naming the place`() async throws {
        var services = try await services()
        services.imageFetcher = ImageFetcher(reach: .everywhere)
        try await withHost { address, asked in
            for (path, reason) in [
                ("/none", "404"), ("/large", "over 33554432 bytes"),
            ] {
                let refused = await services.chat(messages: Self.chat(address + path))
                #expect(
                    refused.status == 400 && refused.error["param"] as? String == "messages[0].content[0].image_url")
                #expect((refused.error["message"] as? String)?.contains(reason) == true, "\(refused.error)")
            }
            let many = Array(repeating: #"{"type":"image_url","image_url":{"url":"\#(address)/a.png"}}"#, count: 17)
            let refused = await services.chat(messages: #"{"role":"user","content":[\#(many.joined(separator: ","))]}"#)
            #expect(refused.status == 400 && refused.error["param"] as? String == "messages[0].content[16].image_url")
        }
    }

    @Test func `internal addresses are never asked, by whatever name`() async throws {
        var services = try await services()
        services.imageFetcher = ImageFetcher()
        try await withHost { address, asked in
            let port = address.split(separator: ":").last ?? ""
            for host in [
                "127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0.0.0.0", "10.0.0.1",
                "192.168.0.1", "169.254.169.254", "[fe80::1]", "[fd00::1]",
            ] {
                let refused = await services.chat(messages: Self.chat("http://\(host):\(port)/a.png"))
                #expect(refused.status == 400, "\(host)")
                #expect(
                    (refused.error["message"] as? String)?.contains("cannot be fetched") == true, "\(refused.error)")
            }
            #expect(asked().isEmpty)
        }
        services.imageFetcher = nil
        let off = await services.chat(messages: Self.chat("https://example.com/a.png"))
        #expect(off.status == 400)
        #expect((off.error["message"] as? String)?.contains("--allow-image-urls") == true)
    }

    @Test func `the list of models says whether they look at images`() async throws {
        let directory = try TemporaryDirectory()
        _ = try TinyModel().write(in: directory, as: "a.gguf")
        for sees in [true, false] {
            var catalog = ModelCatalog(directory: directory.url)
            if sees {
                catalog.defaults.configuration.imageEncoder = directory.url.appendingPathComponent("imageReader.gguf")
            }
            let services = Services(models: ModelStore(catalog, tools: FakeMachine(memory: 1 << 30).tools))
            let list = try #require(await services.answer("GET", "/v1/models").json["data"] as? [[String: Any]])
            #expect(list.first?["capabilities"] as? [String] == ["completion"] + (sees ? ["multimodal"] : []))
        }
    }
}
