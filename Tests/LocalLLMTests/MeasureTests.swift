import Foundation
import TestSupport
import Testing

@testable import LocalLLM

@Suite struct MeasureTests {
    private let directory: TemporaryDirectory
    private let model: LocalModel
    private let tokens: [Int32] = (0..<150).map { Int32(($0 * 37 + 11) % 259) }

    init() async throws {
        directory = try TemporaryDirectory()
        model = try await LocalModel.load(
            from: try TinyModel().write(in: directory), configuration: .init(contextSize: 200, threads: 1))
    }

    @Test func `each repetition is a measurement, announced before it`() async throws {
        let (announced, continuation) = AsyncStream<Int>.makeStream()
        let results = try await model.measure(prompt: 5, generate: 3, depth: 40, batch: 3, repetitions: 2) {
            continuation.yield($0)
        }
        continuation.finish()
        #expect(results.count == 2)
        for result in results {
            #expect(0 < result.secondsToFirstToken && result.secondsToFirstToken <= result.seconds)
        }
        #expect(await announced.reduce(into: []) { $0.append($1) } == [0, 1, 2])
    }

    @Test(arguments: [(0, 0, 0, 1), (201, 0, 0, 1), (100, 50, 51, 1), (1, 0, 0, 0), (1, 0, 0, 513)])
    func `what cannot be measured is refused`(prompt: Int, generate: Int, depth: Int, batch: Int) async {
        await #expect(throws: LocalModelError.self) {
            try await model.measure(prompt: prompt, generate: generate, depth: depth, batch: batch)
        }
    }

    @Test func `a profile counts the operations of every weight, and no more time than the steps took`() async throws {
        let (prompt, batch) = (7, 2)
        let (parts, seconds) = try await model.profile(prompt: prompt, generate: 0, depth: 10, batch: batch)
        #expect(parts.reduce(0) { $0 + $1.seconds } <= seconds)
        let shape = TinyModel()
        func operations(_ names: String...) throws -> Double {
            try names.reduce(0) { sum, name in
                let part = try #require(parts.first { $0.name == name }, "\(parts.map(\.name))")
                return sum + part.floatOperations + part.byteOperations
            }
        }
        // Of the last layer, all tokens need keys and values; the rest is computed for the last token of each prompt.
        let (all, last) = (2 * prompt * batch * (shape.layers - 1), 2 * batch)
        let (queries, keys) = (shape.heads * shape.headWidth, shape.kvHeads * shape.headWidth)
        #expect(
            try operations("attn_q, attn_k, attn_v", "attn_k, attn_v", "attn_q")
                == Double(shape.width * (all * (queries + 2 * keys) + 2 * prompt * batch * 2 * keys + last * queries)))
        #expect(try operations("ffn_down") == Double((all + last) * shape.width * shape.feedForward))
        // Token i of the prompt sees the tokens before the prompt, those of the prompt up to itself.
        let seen = (0..<prompt).reduce(0) { $0 + 10 + $1 + 1 }
        #expect(
            try operations("attention")
                == Double(batch * ((shape.layers - 1) * seen + 10 + prompt) * 2 * shape.heads * 2 * shape.headWidth))
    }

    @Test(arguments: [0, 1, 33, 149], [false, true])
    func `logits from a position on are those of the whole`(first: Int, asAnswer: Bool) async throws {
        let whole = try await model.logits(of: tokens)
        let mapped = try await model.mapLogits(of: tokens, from: first, asAnswer: asAnswer) { position, logits in
            (position, Array(logits))
        }
        #expect(mapped.map(\.0) == Array(first..<150))
        #expect(normalizedMeanSquaredError(mapped.flatMap(\.1), Array(whole[(first * 259)...])) < 1e-9)
    }

    @Test(arguments: [0, 1, 32, 33, 64])
    func `a cache that was cut goes on as one that never was longer`(count: Int) async throws {
        let tokens = tokens
        let (cut, fresh) = try await model.thread.perform { network, compute in
            func logits(_ pieces: [ArraySlice<Int32>], _ state: SequenceState) -> [Float] {
                pieces.reduce(into: []) { result, piece in
                    var step = Step()
                    step.append(piece, to: state, output: .last)
                    let logits = network.forward(step, on: compute)
                    result = Array(UnsafeBufferPointer(start: logits.base, count: logits.columns))
                }
            }
            let state = network.makeState()
            _ = logits([tokens[0..<70]], state)
            state.rollBack(to: count)
            let cut = logits([tokens[100..<120]], state)
            let pieces = [tokens[0..<count], tokens[100..<120]].filter { !$0.isEmpty }
            return (cut, logits(pieces, network.makeState()))
        }
        #expect(normalizedMeanSquaredError(cut, fresh) < 1e-9)
    }

    @Test func `costs are those of the matrices that a step reads`() async throws {
        // Queries, keys and values, output, gate and up and down; two layers of floats.
        let layer = 64 * 64 + 2 * 32 * 64 + 64 * 64 + 3 * 64 * 96
        #expect(model.info.costs.parametersOfPromptToken == 2 * layer)
        #expect(model.info.costs.bytesOfStep == 4 * (2 * layer + 259 * 64))
        #expect(model.info.costs.cacheBytesOfToken == 2 * 2 * (32 + 32))
        var tied = TinyModel()
        tied.isTied = true
        let other = try await LocalModel.load(from: try tied.write(in: directory, as: "tied.gguf"))
        #expect(other.info.costs == model.info.costs)
    }
}
