import CommandLineParsing
import Foundation
import LocalLLM

/// Placeholder of an image in a text, as in llama.cpp.
let imageMarker = "<__media__>"

/// Writes the embeddings of an image's tokens, for comparison with other engines.
struct ImageCommand: Command {
    static let name = "image"
    static let summary = "write the embeddings of an image's tokens to a file"
    static let synopsis = "-m FILE --mmproj FILE --image FILE… --out FILE [--repeat N]"
    static let details = """
        Writes 32-bit floats, little-endian, [tokens, width]; for a tiled image the tiles row by row, then the overview.
        Prints {"tokens": n, "width": w, "seconds": [s1, …]} with the time per image; with --repeat the minimum.
        """
    static let options: [Option] = [
        .model, .image,
        Option("-o", "--out", value: "FILE", help: "output file"),
        Option("--repeat", value: "N", help: "encode each image N times (default: 1)"),
    ]
    static let modelOptions: [ModelOption] = [.imageEncoder] + ModelOption.loading

    let model: String
    let images: [String]
    let output: String
    let repetitions: Int
    let configuration: LocalModel.Configuration

    init(_ arguments: Arguments) throws(UsageError) {
        model = try arguments.model
        _ = try arguments.required("--mmproj")
        images = arguments.strings("--image")
        guard !images.isEmpty else { throw UsageError("--image is missing") }
        output = try arguments.required("--out")
        repetitions = try arguments.int("--repeat", in: 1...1000) ?? 1
        configuration = try arguments.configuration(Self.modelOptions)
    }

    struct Shape: Encodable { let tokens: Int, width: Int, seconds: [Double] }

    func run() async throws -> Bool {
        let model = try await LocalModel.load(model, configuration)
        var (vectors, seconds) = ([[Float]](), [Double]())
        for path in images {
            let image = try RGBImage(path: path)
            var (best, encoded) = (Double.infinity, [[Float]]())
            for _ in 0..<repetitions {
                let started = ContinuousClock.now
                encoded = try await model.encode(image)
                best = min(best, (.now - started) / .seconds(1))
            }
            seconds.append(best)
            vectors += encoded
        }
        let data = vectors.flatMap { $0 }.map(\.bitPattern.littleEndian).withUnsafeBytes { Data($0) }
        do {
            try data.write(to: URL(fileURLWithPath: output))
        } catch {
            throw BenchError("--out: cannot write '\(output)': \(error.localizedDescription)")
        }
        try printJSON(Shape(tokens: vectors.count, width: vectors.first?.count ?? 0, seconds: seconds))
        return true
    }
}

extension RGBImage {
    /// Reads an image file.
    init(path: String) throws {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw BenchError("--image: cannot read '\(path)': \(error.localizedDescription)")
        }
        do {
            try self.init(file: Array(data))
        } catch {
            throw BenchError("--image: '\(path)': \(error)")
        }
    }
}
