import Foundation
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// Images in prompts: what they see, what is remembered of them, and what is refused.
struct ImagePromptTests {
    private func image(_ seed: UInt64, width: Int = 16, height: Int = 16) throws -> RGBImage {
        try #require(
            RGBImage(
                size: .init(width: width, height: height), bytes: SeededGenerator.bytes(3 * width * height, seed: seed))
        )
    }

    private func model(_ imageReader: TinyVision?) async throws -> LocalModel {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        return try await LocalModel.load(
            from: try TinyModel().write(in: directory),
            configuration: .init(imageEncoder: try imageReader?.write(in: directory)))
    }

    /// Larger than the pages of the cache, so that pieces and prefixes end inside.
    private static let large: TinyVision = {
        var imageReader = TinyVision()
        (imageReader.imageSize, imageReader.merge) = (32, 1)
        return imageReader
    }()

    private func text(_ before: String, _ after: String) -> String { before + ChatMessage.imageMarker + after }

    @Test func `an image's tokens see each other whatever the steps`() async throws {
        let model = try await model(Self.large)
        let prompt = try model.prompt(of: text("look: ", " what?"), images: [try await model.read(try image(1))])
        let whole = try await model.logits(of: prompt)
        for chunk in [1, 3, 32] {
            #expect(normalizedMeanSquaredError(try await model.logits(of: prompt, chunk: chunk), whole) < 1e-6)
        }
        // The text before it does not depend on it; that after it does.
        let other = try model.prompt(of: text("look: ", " what?"), images: [try await model.read(try image(2))])
        let logits = try await model.logits(of: other)
        let before = 7 * model.info.vocabularySize
        #expect(Array(logits[..<before]) == Array(whole[..<before]))
        #expect(normalizedMeanSquaredError(logits, whole) > 1e-4)
    }

    @Test func `a second question about an image computes only what is new`() async throws {
        let model = try await model(Self.large)
        let picked = try image(1)
        let first = try await model.read(picked)
        // The same contents are the same tokens, and nothing is encoded again.
        #expect(try await model.read(picked).ids == first.ids)
        #expect(try await model.read(try image(2)).ids.overlaps(first.ids) == false)
        func ask(_ question: String, _ images: [ModelImage]) async throws -> (text: String, usage: Usage) {
            var (answer, usage) = ("", Usage?.none)
            let prompt = try model.prompt(of: text("a", question), images: images)
            for try await piece in model.generate(prompt, options: .init(temperature: 0, maximumTokens: 8)) {
                answer += piece.text
                usage = piece.finish?.usage ?? usage
            }
            return (answer, try #require(usage))
        }
        let fresh = try await ask("what?", [first])
        // Begin, "a", the markers of Gemma 3 byte by byte, the image, "what?".
        let markers = "<start_of_image><end_of_image>".utf8.count
        #expect(fresh.usage.cachedTokens == 0 && fresh.usage.promptTokens == 2 + markers + 64 + 5)
        let again = try await ask("what?", [first])
        #expect(again.usage.cachedTokens == 96 && again.text == fresh.text)
        #expect(try await ask("who?", [first]).usage.cachedTokens == 96)
        let other = try await ask("what?", [try await model.read(try image(2))])
        #expect(other.usage.cachedTokens == 0)
    }

    @Test(arguments: ["idefics3", "lfm2"])
    func `tiles computed together are those computed alone`(kind: String) async throws {
        var imageReader = TinyVision()
        imageReader.kind = kind
        let directory = try TemporaryDirectory()
        let encoder = try VisionBuilder(GGUFFile(path: try imageReader.write(in: directory).path)).encoder()
        let compute = Compute(kernels: .best, threads: 2)
        defer { compute.pool.stop() }
        func encode(_ pieces: [RGBImage], rowsOfPart: Int = 256) -> [[Float]] {
            let pass = encoder.pass(over: pieces, rowsOfPart: rowsOfPart)
            while pass.advance(on: compute) {}
            return pass.results.map {
                Array(UnsafeBufferPointer(start: $0.matrix.base, count: $0.matrix.rows * $0.matrix.columns))
            }
        }
        let pieces = encoder.preprocessing.pieces(of: try image(3, width: 60, height: 40)).all
        let together = encode(pieces)
        for (piece, rows) in zip(pieces, together) {
            #expect(normalizedMeanSquaredError(encode([piece])[0], rows) < 1e-10)
            #expect(normalizedMeanSquaredError(encode([piece], rowsOfPart: 5)[0], rows) < 1e-10)
        }
    }

    @Test func `messages bring their images`() async throws {
        let model = try await model(TinyVision())
        let png = try #require(TestImages.files["palette"])
        let message = ChatMessage.user("\u{FFFC}what?", images: [png])
        #expect(message.content == "\u{FFFC}\nwhat?")
        var usage: Usage?
        for try await piece in model.generate([message], options: .init(temperature: 0, maximumTokens: 4)) {
            usage = piece.finish?.usage ?? usage
        }
        // Begin, "u:", the markers of Gemma 3 byte by byte, the image, "\nwhat?;a:".
        let markers = "<start_of_image><end_of_image>".utf8.count
        #expect(usage?.promptTokens == 1 + 2 + markers + TinyVision().tokens + 9)
        let broken = ChatMessage.user("what?", images: [Data("GIF89a".utf8)])
        await #expect(throws: ImageFileError.self) { for try await _ in model.generate([broken]) {} }
    }

    @Test func `a model without an image encoder refuses images, and text of negative ids`() async throws {
        let blind = try await model(nil)
        #expect(!blind.seesImages)
        await #expect(throws: LocalModelError.self) { _ = try await blind.read(try image(1)) }
        let seeing = try await model(TinyVision())
        let read = try await seeing.read(try image(1))
        #expect(throws: LocalModelError.self) { try blind.prompt(of: text("", ""), images: [read]) }
        #expect(throws: LocalModelError.self) { try seeing.prompt(of: "no marker", images: [read]) }
        let id = Int32(-read.ids.lowerBound)
        await #expect(throws: LocalModelError.self) {
            for try await _ in seeing.generate(tokens: [1, id]) {}
        }
    }

    @Test func `files that do not fit are refused, saying why`() async throws {
        var wide = TinyVision()
        wide.modelWidth = 48
        await #expect(throws: ModelFileError.self) { _ = try await model(wide) }
        let directory = try TemporaryDirectory()
        func refusal(_ change: (inout GGUFBuilder) -> Void) throws -> String {
            var builder = TinyVision().builder()
            change(&builder)
            let path = try directory.write(builder.bytes(), as: "broken.gguf")
            do {
                _ = try VisionBuilder(GGUFFile(path: path)).encoder()
                return ""
            } catch {
                return "\(error)"
            }
        }
        #expect(try refusal { $0.metadata[2].value = .string("resampler") }.contains("resampler"))
        #expect(try refusal { $0.metadata[1].value = .bool(false) }.contains("clip.has_vision_encoder"))
        #expect(try refusal { $0.tensors.removeAll { $0.name == "v.blk.1.attn_k.weight" } }.contains("attn_k"))
        #expect(
            try refusal { $0.tensors.append(.init("v.blk.0.strange", shape: [1], [1])) }.contains("v.blk.0.strange"))
        #expect(try refusal { $0.tensors[1].shape[1] = 15 }.contains("v.position_embd.weight"))
        // Every key with a number of another size, or missing: an error or an encoder, never a crash.
        for index in 2..<TinyVision().builder().metadata.count {
            for value: GGUFBuilder.Value in [.uint32(0), .uint32(3), .uint32(.max), .string("x"), .float32(.nan)] {
                _ = try refusal { $0.metadata[index].value = value }
            }
            _ = try refusal { $0.metadata.remove(at: index) }
        }
        for index in TinyVision().builder().tensors.indices {
            _ = try refusal { $0.tensors[index].shape = [4, 4] }
            _ = try refusal { $0.tensors.remove(at: index) }
        }
    }

    @Test(arguments: [
        ("idefics3", "vision.preproc_image_size", GGUFBuilder.Value.uint32(1 << 28)),
        ("idefics3", "vision.preproc_image_size", .uint32(7000)),
    ])
    func `an encoder that would enlarge every image beyond what is read of a file is refused`(
        kind: String, key: String, value: GGUFBuilder.Value
    ) async throws {
        var imageReader = TinyVision()
        imageReader.kind = kind
        imageReader.extra = [("clip." + key, value)]
        let error = await #expect(throws: ModelFileError.self) { _ = try await model(imageReader) }
        #expect(error?.message.contains("enlarged") == true, "\(String(describing: error))")
    }
}
