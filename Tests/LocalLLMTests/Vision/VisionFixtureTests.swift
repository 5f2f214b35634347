import Foundation
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// Images through tiny encoders of every kind, against the vectors and logits of the reference implementation.
@Suite(.enabled(if: Fixtures.exist("more/vision-gemma3.json"), "reference data is not here"))
struct VisionFixtureTests {
    struct Reference: Decodable {
        struct Image: Decodable {
            let name: String
            let width: Int
            let height: Int
        }
        struct Chunk: Decodable {
            let tokens: [Int32]?
            let pixels: [[Int]]?
            let image_tokens: Int?
        }
        struct Case: Decodable {
            let prompt: String
            let images: [String]
            let width: Int
            let chunks: [Chunk]
            let embd_offset: Int
            let embd_floats: Int
            let logits_offset: Int
            let logits_floats: Int
            let pixels_offset: Int?
            let pixels_bytes: Int?
        }
        let images: [Image]
        let cases: [Case]

        init(_ name: String) throws {
            self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: Fixtures.url("more/vision-\(name).json")))
        }

        func image(_ name: String) throws -> RGBImage {
            let image = try #require(images.first { $0.name == name })
            let bytes = try Data(contentsOf: Fixtures.url("more/images/\(name).rgb"))
            return try #require(
                RGBImage(size: .init(width: image.width, height: image.height), bytes: Array(bytes)))
        }
    }

    static let names = Fixtures.visionModels

    private static func encoder(_ name: String) throws -> VisionEncoder {
        try VisionBuilder(GGUFFile(path: Fixtures.url("more/vision-\(name).mmproj.gguf").path)).encoder()
    }

    @Test(arguments: names)
    func `an image is cut and resized byte for byte as the reference does it`(name: String) throws {
        let reference = try Reference(name)
        let preprocessing = try Self.encoder(name).preprocessing
        let pixels = try Data(contentsOf: Fixtures.url("more/vision-\(name).pixels.u8"))
        for test in reference.cases {
            // The images of the last case are those of the others.
            guard let offset = test.pixels_offset, let count = test.pixels_bytes, count > 0 else { continue }
            let pieces = try test.images.flatMap { preprocessing.pieces(of: try reference.image($0)).all }
            #expect(pieces.map { [$0.size.width, $0.size.height] } == test.chunks.flatMap { $0.pixels ?? [] })
            // Without the two arrays, whose difference would take minutes to print.
            let isSame = pieces.flatMap(\.bytes).elementsEqual(pixels[offset..<offset + count])
            #expect(isSame, "\(name), \(test.prompt)")
        }
    }

    @Test(arguments: names)
    func `an image's vectors are those of the reference`(name: String) throws {
        let reference = try Reference(name)
        let encoder = try Self.encoder(name)
        let expected = try Fixtures.floats("more/vision-\(name).f32")
        let compute = Compute(kernels: .best, threads: 2)
        defer { compute.pool.stop() }
        for test in reference.cases {
            let pieces = try test.images.flatMap { encoder.preprocessing.pieces(of: try reference.image($0)).all }
            let pass = encoder.pass(over: pieces)
            while pass.advance(on: compute) {}
            let values = pass.results.flatMap { rows in
                Array(UnsafeBufferPointer(start: rows.matrix.base, count: rows.matrix.rows * rows.matrix.columns))
            }
            #expect(pass.results.map(\.matrix.rows) == test.chunks.compactMap(\.image_tokens))
            #expect(encoder.rowWidth == test.width)
            let part = Array(expected[test.embd_offset..<test.embd_offset + test.embd_floats])
            let error = normalizedMeanSquaredError(values, part)
            #expect(error < 1e-5, "\(name): \(error)")
        }
    }
}

extension VisionFixtureTests {
    @Test(arguments: names)
    func `a prompt with images has the reference's tokens and logits`(name: String) async throws {
        let reference = try Reference(name)
        let model = try await LocalModel.load(
            from: Fixtures.url("more/vision-\(name).gguf"),
            configuration: .init(imageEncoder: Fixtures.url("more/vision-\(name).mmproj.gguf")))
        let expected = try Fixtures.floats("more/vision-\(name).logits.f32")
        for test in reference.cases {
            var images: [ModelImage] = []
            for image in test.images { images.append(try await model.read(try reference.image(image))) }
            let prompt = try model.prompt(
                of: test.prompt.replacing("<__media__>", with: ChatMessage.imageMarker), images: images)
            #expect(prompt.tokens.filter { $0 >= 0 } == test.chunks.flatMap { $0.tokens ?? [] })
            let part = Array(expected[test.logits_offset..<test.logits_offset + test.logits_floats])
            for chunk in [512, 7] {
                let error = normalizedMeanSquaredError(try await model.logits(of: prompt, chunk: chunk), part)
                #expect(error < 1e-4, "\(name), \(test.prompt), \(chunk): \(error)")
            }
        }
    }
}
