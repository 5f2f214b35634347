import Client
import Foundation
import HTTP
import Synchronization
import TestSupport
import Testing

@testable import Chat

/// Images that go with messages.
@Suite(.timeLimit(.minutes(5))) struct ImageTests {
    private let directory: TemporaryDirectory
    private let model: String
    private let imageReader: String
    private let image: String

    init() throws {
        directory = try TemporaryDirectory()
        var tiny = TinyModel()
        tiny.context = 512
        model = try tiny.write(in: directory).path
        imageReader = try TinyVision().write(in: directory).path
        image = try directory.write(Array(TestImages.first), as: "it's an image.png")
    }

    private func chat(_ arguments: String..., input: String) async throws -> Program.Result {
        try await Program.chat.run(
            ["--model", model, "--temperature", "0", "-t", "1", "-n", "32"] + arguments, input: input)
    }

    @Test func `a path that a terminal types is an image, the rest is the message`() throws {
        let other = try directory.write(Array(TestImages.second), as: "b.PNG")
        let escaped = image.replacing("'", with: "\\'").replacing(" ", with: "\\ ")
        let quoted = "'\(image.replacing("'", with: "'\\''"))'"
        for typed in [escaped, quoted, "\"\(image)\""] {
            let dropped = try #require(DroppedImages("what's in \(typed) ?"), "\(typed)")
            #expect(dropped.files == [image] && dropped.text == "what's in  ?")
            #expect(DroppedImages(typed)?.text == "")
        }
        let two = try #require(DroppedImages("\(quoted) \(other)\ncompare\nthem"))
        #expect(two.files == [image, other] && two.text == "compare\nthem")
        let address = URL(fileURLWithPath: image).absoluteString
        #expect(DroppedImages(address)?.files == [image])
        for none in ["what's up", "/image a.png", "a.png", other + "x", model, "'", "\\", "", "'\(other)"] {
            #expect(DroppedImages(none) == nil, "\(none)")
        }
    }

    @Test func `an image goes along by option, by command and by its path alike`() async throws {
        let option = try await chat("--mmproj", imageReader, "--image", image, "what is this?", input: "")
        #expect(option.code == 0 && option.complaints == "")
        let command = try await chat("--mmproj", imageReader, input: "/image \(image)\nwhat is this?\n")
        let path = try await chat("--mmproj", imageReader, input: "\"\(image)\" what is this?\n")
        let blind = try await chat("--mmproj", imageReader, input: "/image \(image)\n/image\nwhat is this?\n")
        #expect(command.code == 0 && path.code == 0 && blind.code == 0)
        #expect(command.text == option.text && path.text == option.text)
        #expect(blind.text != option.text)
    }

    @Test func `a model without an image encoder, and a file that is no image, are told at once`() async throws {
        let blind = try await chat("--image", image, "what?", input: "")
        #expect(blind.code == 2 && blind.complaints.contains("--mmproj"))
        let wrong = try await chat("--mmproj", imageReader, input: "/image \(model)\n/image \(image)x\n")
        #expect(wrong.code == 1 && wrong.text == "")
        #expect(wrong.complaints.contains("not a PNG, JPEG, WebP or GIF") && wrong.complaints.contains("No such file"))
    }

    @Test func `images are stored with the conversation, saved and loaded`() async throws {
        let history = directory.url.appending(path: "history").path
        let file = directory.url.appending(path: "talk.json").path
        let whole = try await chat("--mmproj", imageReader, input: "/image \(image)\nwhat?\nand now?\n")
        let first = try await chat(
            "--mmproj", imageReader, "--history", history, input: "/image \(image)\nwhat?\n/save \(file)\n")
        let second = try await chat("--mmproj", imageReader, "--history", history, input: "and now?\n/list\n")
        #expect(second.text.hasPrefix(String(whole.text.dropFirst(first.text.count))))
        #expect(second.text.contains("1 you: [image] what?\n"))
        let loaded = try await chat("--mmproj", imageReader, input: "/load \(file)\nand now?\n")
        #expect(first.text + loaded.text == whole.text)
    }

    @Test func `a cloud gets images as parts of the message`() async throws {
        let bodies = Mutex<[String]>([])
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0)) { request in
            let body = try await request.body.collect(upTo: .max)
            bodies.withLock { $0.append(String(decoding: body, as: UTF8.self)) }
            let event = #"data: {"choices": [{"delta": {"content": "a cat"}, "finish_reason": "stop"}]}"#
            return Response(status: 200, body: .bytes(Array("\(event)\n\ndata: [DONE]\n\n".utf8)))
        }
        let result = try await Program.chat.run(
            ["--cloud", "http://127.0.0.1:\(server.port)", "--cloud-model", "m", "--image", image, "what?"],
            input: "",
            environment: ["LOCALLLM_CLOUD_KEY": "k"])
        #expect(result.text == "a cat\n")
        let body = try #require(bodies.withLock { $0.first }).replacing("\\/", with: "/")
        #expect(body.contains("data:image/png;base64,\(TestImages.first.base64EncodedString())"))
        #expect(body.contains(#""text":"what?""#) && !body.contains("\u{FFFC}"))
        await server.stop(within: .zero)
    }
}
