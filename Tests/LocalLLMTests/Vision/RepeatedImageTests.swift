@testable import Networks
import Foundation
import KernelFormats
import Synchronization
import TestSupport
import Testing

@testable import Engine
@testable import LocalLLM

/// An image that comes again: it is not encoded again, and its tokens are found in the prefix cache.
struct RepeatedImageTests {
    private struct Answer: Equatable {
        var text = ""
        var logprobs: [TokenLogprob] = []
        var cachedTokens = 0
    }

    /// 50 bytes, so that tiny images end behind the first page of the cache.
    private static let before = "Here is something to look at: it hangs on a wall. "
    /// Each with more than two pages of tokens and no common beginning.
    private static let questions = [
        "What is to be seen there? " + String(repeating: "Tell me more about it. ", count: 5),
        "Which colours has it got? " + String(repeating: "List all of those now. ", count: 6),
    ]

    /// - Returns: The answer, and the tokens from the image's first to its last.
    private func ask(
        _ model: LocalModel, _ question: String, about file: Data
    ) async throws -> (Answer, image: Range<Int>) {
        let image = try await model.read(file: file)
        let prompt = try model.prompt(of: Self.before + ChatMessage.imageMarker + question, images: [image])
        var answer = Answer()
        let options = SamplingOptions(temperature: 0, maximumTokens: 6, topLogprobs: 2)
        for try await piece in model.generate(prompt, options: options) {
            answer.text += piece.text
            answer.logprobs += piece.logprobs
            answer.cachedTokens = piece.finish?.usage.cachedTokens ?? answer.cachedTokens
        }
        let start = try #require(prompt.tokens.firstIndex { $0 < 0 })
        return (answer, start..<(try #require(prompt.tokens.lastIndex { $0 < 0 }) + 1))
    }

    /// Asks two questions about an image, then one about another, and compares with a model that knows nothing yet.
    private func check(_ load: () async throws -> LocalModel, _ file: Data, _ other: Data, _ name: String) async throws
    {
        let (model, fresh) = (try await load(), try await load())
        let (first, image) = try await ask(model, Self.questions[0], about: file)
        #expect(first.cachedTokens == 0 && model.encodedImages == 1, "\(name)")
        let (second, _) = try await ask(model, Self.questions[1], about: file)
        #expect(model.encodedImages == 1, "\(name)")
        let pages = image.upperBound / pageTokens * pageTokens
        #expect(pages > 0 && second.cachedTokens >= pages, "\(name): \(second.cachedTokens) of \(image)")
        var alone = try await ask(fresh, Self.questions[1], about: file).0
        #expect(alone.cachedTokens == 0)
        alone.cachedTokens = second.cachedTokens
        #expect(second == alone, "\(name)")
        // The same question about another image has only the text before it in common.
        let (third, _) = try await ask(model, Self.questions[1], about: other)
        #expect(model.encodedImages == 2 && third.cachedTokens <= image.lowerBound, "\(name)")
    }

    @Test(arguments: ["gemma3", "idefics3", "lfm2"], [0, 48])
    func `a second question about an image encodes nothing and computes only what is new`(
        kind: String, window: Int
    ) async throws {
        let directory = try TemporaryDirectory()
        var (tiny, imageReader) = (TinyModel(), TinyVision())
        (tiny.context, tiny.slidingWindow) = (2048, window)
        (imageReader.kind, imageReader.imageSize, imageReader.merge) = (kind, 32, kind == "gemma3" ? 1 : 2)
        let (model, encoder) = (try tiny.write(in: directory), try imageReader.write(in: directory))
        try await check(
            { try await LocalModel.load(from: model, configuration: .init(threads: 1, imageEncoder: encoder)) },
            TestImages.first, TestImages.second, "\(kind), \(window)")
    }

    @Test(
        .enabled(if: Fixtures.exist("more/vision-gemma3.json"), "reference data is not here"),
        arguments: VisionFixtureTests.names)
    func `so it is with every kind of vision model`(name: String) async throws {
        func image(_ name: String) throws -> Data { try Data(contentsOf: Fixtures.url("more/images/\(name).png")) }
        try await check(
            {
                try await LocalModel.load(
                    from: Fixtures.url("more/vision-\(name).gguf"),
                    configuration: .init(
                        threads: 1, imageEncoder: Fixtures.url("more/vision-\(name).mmproj.gguf")))
            }, image("waves-150x130"), image("checker-100x70"), name)
    }

    @Test func `an image that comes twice at once is encoded once`() async throws {
        let directory = try TemporaryDirectory()
        let model = try await LocalModel.load(
            from: try TinyModel().write(in: directory),
            configuration: .init(threads: 1, imageEncoder: try TinyVision().write(in: directory)))
        async let first = model.read(file: TestImages.first)
        async let second = model.read(file: TestImages.first)
        let ids = try await (first.ids, second.ids)
        #expect(ids.0 == ids.1 && model.encodedImages == 1)
        // An image that a message repeats is one, too.
        _ = try await model.read([.user("what?", images: [TestImages.second, TestImages.first, TestImages.second])])
        #expect(model.encodedImages == 2)
    }

    @Test func `an image that was read with another salt is encoded again and shares no pages`() async throws {
        let directory = try TemporaryDirectory()
        let model = try await LocalModel.load(
            from: try TinyModel().write(in: directory),
            configuration: .init(threads: 1, imageEncoder: try TinyVision().write(in: directory)))
        func ids(_ salt: String?) async throws -> Range<Int> {
            try await model.read([.user("what?", images: [TestImages.first])], cacheSalt: salt)[0].ids
        }
        let shared = try await ids(nil)
        let (first, second) = (try await ids("a"), try await ids("b"))
        #expect(model.encodedImages == 3)
        #expect(!shared.overlaps(first) && !shared.overlaps(second) && !first.overlaps(second))
        #expect(try await ids(nil) == shared)
        #expect(try await ids("a") == first)
        #expect(try await ids("b") == second)
        #expect(model.encodedImages == 3)
    }

    @Test func `images that the context has no room for are not encoded`() async throws {
        let directory = try TemporaryDirectory()
        let model = try await LocalModel.load(
            from: try TinyModel().write(in: directory),
            configuration: .init(
                contextSize: 3 * TinyVision().tokens, threads: 1, imageEncoder: try TinyVision().write(in: directory)))
        let images = Array(repeating: [TestImages.first, TestImages.second], count: 500).flatMap { $0 }
        await #expect(
            throws: LocalModelError.contextSizeExceeded(
                contextSize: 3 * TinyVision().tokens, tokenCount: 3 * TinyVision().tokens)
        ) { try await model.read([.user("what?", images: images)]) }
        #expect(model.encodedImages == 2)
    }

    private final class Record: Sendable {
        let order = Mutex<[String]>([])
    }

    @Test func `clients take turns at the encoder`() async throws {
        let queue = TurnQueue()
        let (gate, gateKeeper) = AsyncStream<Void>.makeStream()
        let record = Record()
        let first = Task {
            await queue.run { for await _ in gate {} }
        }
        try await Task.sleep(for: .milliseconds(50))
        var tasks: [Task<Void, Never>] = []
        for client in ["a", "a", "a", "b"] {
            tasks.append(
                Task {
                    await FairShare.$client.withValue(client) {
                        await queue.run { record.order.withLock { $0.append(client) } }
                    }
                })
            try await Task.sleep(for: .milliseconds(50))
        }
        gateKeeper.finish()
        await first.value
        for task in tasks { await task.value }
        #expect(record.order.withLock { $0 } == ["a", "b", "a", "a"])
    }

    @Test func `the images that were used least recently are forgotten first`() throws {
        let directory = try TemporaryDirectory()
        let imageReader = try ImageReader(
            GGUFFile(path: try TinyVision().write(in: directory).path), width: TinyVision().modelWidth, packer: nil)
        func pieces(_ seed: UInt64) throws -> ImageMemory.Key {
            let size = RGBImage.Size(width: 16, height: 16)
            let image = try #require(RGBImage(size: size, bytes: SeededGenerator.bytes(768, seed: seed)))
            return .init(pieces: TiledImage(image))
        }
        func rows(_ tokens: Int) -> [MediaRows] {
            let buffer = AlignedBuffer(floats: 64 * tokens)
            return [MediaRows(columns: tokens, rows: 1, matrix: buffer.matrix(rows: tokens, columns: 64), in: buffer)]
        }
        // Each takes 1,024 bytes of vectors and 768 of pixels.
        let memory = ImageMemory(byteLimit: 4000)
        let images = try (0..<3).map { try pieces($0) }
        let first = memory.remember(images[0], rows: rows(4), markers: [], of: imageReader)
        let second = memory.remember(images[1], rows: rows(4), markers: [], of: imageReader)
        #expect(!first.ids.overlaps(second.ids))
        #expect(memory[images[0]]?.ids == first.ids)
        _ = memory.remember(images[2], rows: rows(4), markers: [], of: imageReader)
        #expect(memory[images[1]] == nil && memory[images[0]] != nil && memory[images[2]] != nil)
        // One that is larger than the whole cache stays until the next one comes.
        let large = try pieces(9)
        _ = memory.remember(large, rows: rows(100), markers: [], of: imageReader)
        #expect(memory[large] != nil && memory[images[0]] == nil && memory[images[2]] == nil)
        _ = memory.remember(images[0], rows: rows(4), markers: [], of: imageReader)
        #expect(memory[large] == nil && memory[images[0]] != nil)
    }

    @Test(.enabled(if: Fixtures.exist("more/vision-lfm2.gguf"), "reference data is not here"))
    func `an encoder whose tokens see each other is refused for a recurrent model`() async throws {
        let directory = try TemporaryDirectory()
        let encoder = try TinyVision().write(in: directory)
        await #expect(throws: ModelFileError.self) {
            _ = try await LocalModel.load(
                from: Fixtures.url("more/vision-lfm2.gguf"), configuration: .init(imageEncoder: encoder))
        }
    }
}
