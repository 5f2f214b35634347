import Foundation
import HTTP
import LocalLLM
import TestSupport
import Testing

@testable import Shim

/// Every kind of vision model behind the server: each route and each form in which images come.
@Suite(.enabled(if: !Fixtures.visionModels.isEmpty, "needs ../shared/fixtures"), .timeLimit(.minutes(5)))
struct VisionKindTests {
    private static func model(_ name: String) async throws -> LocalModel {
        try await LocalModel.load(
            from: Fixtures.url("more/vision-\(name).gguf"),
            configuration: .init(
                contextSize: 2048, threads: 1, imageEncoder: Fixtures.url("more/vision-\(name).mmproj.gguf")))
    }

    private static func services(_ model: LocalModel) -> Services {
        router(model, seesImages: true)
    }

    private static func part(_ file: Data, _ type: String) -> String {
        #"{"type":"image_url","image_url":{"url":"data:image/\#(type);base64,\#(file.base64EncodedString())"}}"#
    }

    private static func body(_ parts: [String], _ fields: String = "") -> String {
        let content = (parts + [#"{"type":"text","text":"What is it?"}"#]).joined(separator: ",")
        return
            #"{"model":"Test-Q4","max_tokens":3,"temperature":0,"messages":[{"role":"user","content":[\#(content)]}]\#(fields)}"#
    }

    @Test(arguments: Fixtures.visionModels)
    func `every route takes images, and each image is encoded once`(name: String) async throws {
        let model = try await Self.model(name)
        let services = Self.services(model)
        let png = try Data(contentsOf: Fixtures.url("more/images/waves-150x130.png"))
        let tokens = try await model.read(try RGBImage(file: Array(png))).tokenCount
        let text = await services.answer("POST", "/v1/chat/completions", Self.body([]))
        let textTokens = try #require(text.usage["prompt_tokens"] as? Int)

        let chat = await services.answer("POST", "/v1/chat/completions", Self.body([Self.part(png, "png")]))
        #expect(chat.status == 200, "\(chat.text)")
        let chatTokens = try #require(chat.usage["prompt_tokens"] as? Int)
        #expect(chatTokens >= textTokens + tokens)

        let base64 = png.base64EncodedString()
        let response = await services.answer(
            "POST", "/v1/responses",
            #"{"model":"Test-Q4","max_output_tokens":3,"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,\#(base64)"},{"type":"input_text","text":"What is it?"}]}]}"#
        )
        #expect(response.status == 200, "\(response.text)")
        #expect(response.usage["input_tokens"] as? Int == chatTokens)

        let message = await services.answer(
            "POST", "/v1/messages",
            #"{"model":"Test-Q4","max_tokens":3,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"\#(base64)"}},{"type":"text","text":"What is it?"}]}]}"#
        )
        #expect(message.status == 200, "\(message.text)")
        // Tokens from the prefix cache are counted apart.
        let counts = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
        #expect(counts.reduce(0) { $0 + (message.usage[$1] as? Int ?? 0) } == chatTokens, "\(message.usage)")

        let vision = await services.answer("POST", "/vision", #"{"prompt":"What is it?","image":"\#(base64)"}"#)
        #expect(vision.status == 200, "\(vision.text)")
        #expect(model.encodedImages == 1)

        let tools =
            #","tools":[{"type":"function","function":{"name":"find","description":"Finds things.","parameters":{"type":"object","properties":{"what":{"type":"string"}}}}}]"#
        let withTools = await services.answer("POST", "/v1/chat/completions", Self.body([Self.part(png, "png")], tools))
        #expect(withTools.status == 200, "\(withTools.text)")
        #expect(try #require(withTools.usage["prompt_tokens"] as? Int) > chatTokens)
        #expect(model.encodedImages == 1)

        let checker = try Data(contentsOf: Fixtures.url("more/images/checker-100x70.png"))
        let both = [Self.part(png, "png"), Self.part(checker, "png")]
        let two = await services.answer("POST", "/v1/chat/completions", Self.body(both))
        #expect(two.status == 200, "\(two.text)")
        #expect(try #require(two.usage["prompt_tokens"] as? Int) > chatTokens)
        #expect(model.encodedImages == 2)
        // In another order they are the same images, with other text.
        let turned = await services.answer("POST", "/v1/chat/completions", Self.body(both.reversed()))
        #expect(turned.usage["prompt_tokens"] as? Int == two.usage["prompt_tokens"] as? Int)
        #expect(model.encodedImages == 2)
    }

    @Test(arguments: Fixtures.visionModels)
    func `every format is seen, upright as Exif says`(name: String) async throws {
        let model = try await Self.model(name)
        let services = Self.services(model)
        func ask(_ file: Data, _ type: String) async -> Int {
            let answer = await services.answer("POST", "/v1/chat/completions", Self.body([Self.part(file, type)]))
            #expect(answer.status == 200, "\(type): \(answer.text)")
            return model.encodedImages
        }
        let jpeg = try #require(TestImages.files["jpeg"])
        #expect(await ask(jpeg, "jpeg") == 1)
        // Upright: the same image. Turned or mirrored: others.
        #expect(await ask(TestImages.jpeg(orientation: 1), "jpeg") == 1)
        for (index, orientation) in (2...8).enumerated() {
            #expect(await ask(TestImages.jpeg(orientation: orientation), "jpeg") == 2 + index)
        }
        #expect(await ask(try #require(TestImages.files["lossless"]), "webp") == 9)
        // The same pixels in another format.
        #expect(await ask(try #require(TestImages.files["interlaced"]), "png") == 9)
        #expect(await ask(try #require(TestImages.files["webp"]), "webp") == 10)
    }

    @Test(arguments: Fixtures.visionModels)
    func `the server's logits are those of the library`(name: String) async throws {
        let model = try await Self.model(name)
        let png = try Data(contentsOf: Fixtures.url("more/images/checker-100x70.png"))
        let answer = await Self.services(model).answer(
            "POST", "/v1/chat/completions", Self.body([Self.part(png, "png")], #","logprobs":true,"top_logprobs":5"#))
        #expect(answer.status == 200, "\(answer.text)")
        let logprobs = answer.choice["logprobs"] as? [String: Any]
        let found = (logprobs?["content"] as? [[String: Any]] ?? []).compactMap { $0["logprob"] as? Double }

        let other = try await Self.model(name)
        var expected: [Double] = []
        let question = ChatMessage.user("What is it?", images: [png])
        let options = SamplingOptions(temperature: 0, maximumTokens: 3, topLogprobs: 5)
        for try await piece in other.generate([question], options: options) {
            expected += piece.logprobs.map(\.logprob)
        }
        #expect(!found.isEmpty && found.count <= expected.count)
        for (one, two) in zip(found, expected) { #expect(abs(one - two) < 1e-4, "\(name): \(found) \(expected)") }
    }
}
