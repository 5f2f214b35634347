import Foundation
import TestSupport
import Testing

@testable import LocalLLM

/// HRM-Text against its definition in double precision, with the layers of `NaiveNetwork`.
@Suite struct HRMTextTests {
    private let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private static let (stack, highCycles, lowCycles) = (2, 2, 3)
    private let tokens: [Int32] = (0..<75).map { Int32(($0 * 37 + 11) % 259) }

    /// The blocks that are in the file: those of the low stack, then those of the high one.
    private static let model: TinyModel = {
        var model = TinyModel()
        model.architecture = "hrm_text"
        model.isHierarchical = true
        model.layers = 2 * stack
        model.extra = [
            ("hrm_text.hrm.layers_per_stack", .uint32(UInt32(stack))),
            ("hrm_text.hrm.h_cycles", .uint32(UInt32(highCycles))),
            ("hrm_text.hrm.l_cycles", .uint32(UInt32(lowCycles))), ("hrm_text.embedding_scale", .float32(3)),
        ]
        return model
    }()

    private static let initial = (0..<model.width).map { Float($0 % 7) / 4 - 0.75 }

    private func builder(blocks: Int = stack * highCycles * (lowCycles + 1)) -> GGUFBuilder {
        var builder = Self.model.builder()
        builder.metadata.removeAll { $0.key == "hrm_text.block_count" }
        builder.metadata.append(("hrm_text.block_count", .uint32(UInt32(blocks))))
        builder.tensors.append(.init("hrm.z_l_init", shape: [Self.model.width], Self.initial))
        return builder
    }

    private func url(_ builder: GGUFBuilder) throws -> URL {
        URL(filePath: try directory.write(builder.bytes(), as: "hrm.gguf"))
    }

    private func expected() -> [Float] {
        let naive = NaiveNetwork(Self.model, turnsAdjacent: false)
        var histories: [NaiveNetwork.History.Element] = Array(
            repeating: ([], []), count: Self.stack * Self.highCycles * (Self.lowCycles + 1))
        return tokens.enumerated().flatMap { position, token in
            var slot = 0
            func run(_ first: Int, _ x: [Double]) -> [Double] {
                var x = x
                for layer in first..<first + Self.stack {
                    x = naive.forward(x, layer, position, &histories[slot])
                    slot += 1
                }
                return naive.norm(x, "none")
            }
            var high = naive.embedding(token).map { 3 * $0 }
            var low = Self.initial.map { Double($0) }
            for _ in 0..<Self.highCycles {
                for _ in 0..<Self.lowCycles { low = run(0, naive.add(high, low)) }
                high = run(Self.stack, naive.add(high, low))
            }
            return naive.logits(of: high)
        }
    }

    @Test(arguments: [75, 20, 1]) func `two stacks that run in turns`(chunk: Int) async throws {
        let model = try await LocalModel.load(from: url(builder()), configuration: .init(threads: 2))
        let error = normalizedMeanSquaredError(try await model.logits(of: tokens, chunk: chunk), expected())
        #expect(error < 1e-6)
    }

    @Test func `a number of blocks that is not that of the runs is refused by name`() async throws {
        let url = try url(builder(blocks: 15))
        await #expect {
            _ = try await LocalModel.load(from: url)
        } throws: { error in
            "\(error)".contains("hrm_text.block_count")
        }
    }
}
