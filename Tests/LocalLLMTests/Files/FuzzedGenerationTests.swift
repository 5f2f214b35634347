import Foundation
import TestSupport
import Testing

@testable import LocalLLM

/// Files that are wrong somewhere, loaded and asked for an answer: what loads must answer or say why not.
///
/// `LOCALLLM_FUZZ_RUNS` sets the number of files for each seed.
@Suite(.timeLimit(.minutes(20))) struct FuzzedGenerationTests {
    private static let runs = ProcessInfo.processInfo.environment["LOCALLLM_FUZZ_RUNS"].flatMap { Int($0) } ?? 60

    /// Mutates numbers of the file's description, its tensors' names and shapes, or the weights.
    private func mutate(_ whole: [UInt8], weightsFrom start: Int, _ random: inout SeededGenerator) -> [UInt8] {
        let isDescription = Int.random(in: 0..<4, using: &random) > 0
        var part = Array(isDescription ? whole[..<start] : whole[start...])
        let length = part.count
        FuzzedGGUFTests.mutate(&part, &random)
        // Of the same length, so that what follows stays where it is: a file cut or shifted is refused at once.
        part = Array(part.prefix(length)) + Array(repeating: 0, count: max(0, length - part.count))
        return isDescription ? part + whole[start...] : whole[..<start] + part
    }

    @Test(arguments: 0..<4)
    func `no mutation of a file crashes what it answers`(seed: UInt64) async throws {
        let directory = try TemporaryDirectory()
        var model = TinyModel()
        model.isQuantized = seed % 2 == 0
        (model.width, model.feedForward) = (32, 32)
        (model.heads, model.kvHeads, model.layers) = (2, 1, 1)
        if seed > 1 { (model.experts, model.usedExperts, model.sharedFeedForward) = (4, 2, 32) }
        let builder = model.builder()
        let whole = builder.bytes()
        let weights = builder.tensors.reduce(0) { $0 + ($1.data.count + 31) / 32 * 32 }
        var random = SeededGenerator(seed: seed)
        var answered = 0
        for _ in 0..<Self.runs {
            let bytes = mutate(whole, weightsFrom: whole.count - weights, &random)
            let url = URL(filePath: try directory.write(bytes, as: "mutant.gguf"))
            do {
                var configuration = LocalModel.Configuration(threads: 1)
                configuration.cacheTokens = 4096
                let model = try await LocalModel.load(from: url, configuration: configuration)
                let options = SamplingOptions(seed: 1, maximumTokens: 6, stop: ["xyz"], topLogprobs: 2)
                for try await piece in model.generate([.user("Hello")], options: options) {
                    #expect(piece.logprobs.allSatisfy { $0.logprob.isFinite })
                }
                _ = try await model.embeddings(of: [[1, 2, 3]])
                answered += 1
            } catch is ModelFileError {
            } catch is LocalModelError {
            }
        }
        #expect(answered > 0 && answered < Self.runs)
    }
}
