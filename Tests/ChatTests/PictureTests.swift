import Client
import Foundation
import HTTP
import Synchronization
import TestSupport
import Testing

@testable import Chat

/// Pictures that go with messages.
@Suite(.timeLimit(.minutes(5))) struct PictureTests {
    private let directory: TemporaryDirectory
    private let model: String
    private let eyes: String
    private let picture: String

    init() throws {
        directory = try TemporaryDirectory()
        var tiny = TinyModel()
        tiny.context = 512
        model = try tiny.write(in: directory).path
        eyes = try TinyEyes().write(in: directory).path
        picture = try directory.write(Array(TestPictures.first), as: "it's a picture.png")
    }

    private func chat(_ arguments: String..., input: String) async throws -> Program.Result {
        try await Program.chat.run(
            ["--model", model, "--temperature", "0", "-t", "1", "-n", "32"] + arguments, input: input)
    }

    @Test func `a path that a terminal types is a picture, the rest is the message`() throws {
        let other = try directory.write(Array(TestPictures.second), as: "b.PNG")
        let escaped = picture.replacing("'", with: "\\'").replacing(" ", with: "\\ ")
        let quoted = "'\(picture.replacing("'", with: "'\\''"))'"
        for typed in [escaped, quoted, "\"\(picture)\""] {
            let dropped = try #require(DroppedPictures("what's in \(typed) ?"), "\(typed)")
            #expect(dropped.files == [picture] && dropped.text == "what's in  ?")
            #expect(DroppedPictures(typed)?.text == "")
        }
        let two = try #require(DroppedPictures("\(quoted) \(other)\ncompare\nthem"))
        #expect(two.files == [picture, other] && two.text == "compare\nthem")
        let address = URL(fileURLWithPath: picture).absoluteString
        #expect(DroppedPictures(address)?.files == [picture])
        for none in ["what's up", "/image a.png", "a.png", other + "x", model, "'", "\\", "", "'\(other)"] {
            #expect(DroppedPictures(none) == nil, "\(none)")
        }
    }

    @Test func `a picture goes along by option, by command and by its path alike`() async throws {
        let option = try await chat("--mmproj", eyes, "--image", picture, "what is this?", input: "")
        #expect(option.code == 0 && option.complaints == "")
        let command = try await chat("--mmproj", eyes, input: "/image \(picture)\nwhat is this?\n")
        let path = try await chat("--mmproj", eyes, input: "\"\(picture)\" what is this?\n")
        let blind = try await chat("--mmproj", eyes, input: "/image \(picture)\n/image\nwhat is this?\n")
        #expect(command.code == 0 && path.code == 0 && blind.code == 0)
        #expect(command.text == option.text && path.text == option.text)
        #expect(blind.text != option.text)
    }

    @Test func `a model without an image encoder, and a file that is no picture, are told at once`() async throws {
        let blind = try await chat("--image", picture, "what?", input: "")
        #expect(blind.code == 2 && blind.complaints.contains("--mmproj"))
        let wrong = try await chat("--mmproj", eyes, input: "/image \(model)\n/image \(picture)x\n")
        #expect(wrong.code == 1 && wrong.text == "")
        #expect(wrong.complaints.contains("no PNG, JPEG or WebP") && wrong.complaints.contains("No such file"))
    }

    @Test func `pictures are stored with the conversation, saved and loaded`() async throws {
        let history = directory.url.appending(path: "history").path
        let file = directory.url.appending(path: "talk.json").path
        let whole = try await chat("--mmproj", eyes, input: "/image \(picture)\nwhat?\nand now?\n")
        let first = try await chat(
            "--mmproj", eyes, "--history", history, input: "/image \(picture)\nwhat?\n/save \(file)\n")
        let second = try await chat("--mmproj", eyes, "--history", history, input: "and now?\n/list\n")
        #expect(second.text.hasPrefix(String(whole.text.dropFirst(first.text.count))))
        #expect(second.text.contains("1 you: [picture] what?\n"))
        let loaded = try await chat("--mmproj", eyes, input: "/load \(file)\nand now?\n")
        #expect(first.text + loaded.text == whole.text)
    }

    @Test func `a cloud gets pictures as parts of the message`() async throws {
        let bodies = Mutex<[String]>([])
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0)) { request in
            bodies.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
            let event = #"data: {"choices": [{"delta": {"content": "a cat"}, "finish_reason": "stop"}]}"#
            return Response(status: 200, body: .bytes(Array("\(event)\n\ndata: [DONE]\n\n".utf8)))
        }
        let result = try await Program.chat.run(
            ["--cloud", "http://127.0.0.1:\(server.port)", "--cloud-model", "m", "--image", picture, "what?"],
            input: "",
            environment: ["LOCALLLM_CLOUD_KEY": "k"])
        #expect(result.text == "a cat\n")
        let body = try #require(bodies.withLock { $0.first }).replacing("\\/", with: "/")
        #expect(body.contains("data:image/png;base64,\(TestPictures.first.base64EncodedString())"))
        #expect(body.contains(#""text":"what?""#) && !body.contains("\u{FFFC}"))
        await server.stop(within: .zero)
    }
}
