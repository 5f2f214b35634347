import Foundation
import TestSupport
import Testing

@testable import LocalLLM

/// T5's decoder as the paper writes it, in double precision, beside `NaiveEncoder`.
private struct NaiveT5 {
    let encoder: NaiveEncoder
    private var model: TinyEncoder { encoder.model }

    func logits(_ input: [Int32], _ tokens: [Int32]) -> [Float] {
        let memory = encoder.states(input)
        var x = tokens.map { encoder.row("token_embd.weight", Int($0), model.width) }
        for layer in 0..<model.decoderLayers {
            let name = "dec.blk.\(layer)."
            let h = x.map { encoder.norm(name + "attn_norm", $0) }
            x = x.indices.map { query in
                encoder.add(x[query], attend(name + "attn", h[query], h[...query], bias: { bias($0, query - $1) }))
            }
            x = x.map { state in
                encoder.add(
                    state, attend(name + "cross_attn", encoder.norm(name + "cross_attn_norm", state), memory[...]))
            }
            x = x.map { encoder.add($0, encoder.mlp(name, encoder.norm(name + "ffn_norm", $0))) }
        }
        // The output is the embedding, and states are scaled.
        return x.flatMap { state in
            let last = encoder.norm("dec.output_norm", state).map { $0 / Double(model.width).squareRoot() }
            return encoder.linear("token_embd", last).map { Float($0) }
        }
    }

    private func attend(
        _ name: String, _ query: [Double], _ states: ArraySlice<[Double]>,
        bias: (_ head: Int, _ key: Int) -> Double = { _, _ in 0 }
    ) -> [Double] {
        let q = encoder.linear(name + "_q", query)
        let (keys, values) = (
            states.map { encoder.linear(name + "_k", $0) }, states.map { encoder.linear(name + "_v", $0) }
        )
        var attended: [Double] = []
        for head in 0..<model.heads {
            let part = head * model.headWidth..<(head + 1) * model.headWidth
            let scores = keys.enumerated().map { index, key in
                zip(q[part], key[part]).reduce(bias(head, index)) { $0 + $1.0 * $1.1 }
            }
            let exponentials = scores.map { exp($0 - scores.max()!) }
            let sum = exponentials.reduce(0, +)
            attended += part.map { d in zip(exponentials, values).reduce(0) { $0 + $1.0 / sum * $1.1[d] } }
        }
        return encoder.linear(name + "_o", attended)
    }

    /// 8 buckets for distances back: 0 to 3 have their own, more share by logarithm up to 128.
    private func bias(_ head: Int, _ distance: Int) -> Double {
        let far = Double(distance)
        let bucket = far < 4 ? far : min(7, (4 + log(far / 4) / log(32) * 4).rounded(.down))
        return encoder.weights["dec.blk.0.attn_rel_b.weight"]![Int(bucket) * model.heads + head]
    }
}

@Suite struct T5Tests {
    private let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private static func tiny(_ gating: TinyEncoder.Gating) -> TinyEncoder {
        var tiny = TinyEncoder()
        (tiny.architecture, tiny.positions, tiny.gating) = ("t5", .relative, gating)
        (tiny.isPreNorm, tiny.isRMS, tiny.hasBias, tiny.hasTokenTypes) = (true, true, false, false)
        (tiny.layers, tiny.decoderLayers) = (2, 3)
        return tiny
    }

    private let input: [Int32] = (0..<37).map { Int32(($0 * 29 + 5) % 56) }
    private let tokens: [Int32] = (0..<41).map { Int32(($0 * 31 + 3) % 56) }

    @Test(arguments: [TinyEncoder.Gating.none, .separate])
    func `an encoder-decoder gives a plain one's logits, whatever the step's size`(gating: TinyEncoder.Gating)
        async throws
    {
        let tiny = Self.tiny(gating)
        let expected = NaiveT5(encoder: NaiveEncoder(tiny)).logits(input, tokens)
        let model = try await LocalModel.load(from: try tiny.write(in: directory))
        #expect(model.info.kind == .encoderDecoder)
        for chunk in [41, 5, 1] {
            let logits = try await model.logits(of: tokens, encoding: input, chunk: chunk)
            // Keys and values of the decoder's own tokens are halves.
            #expect(normalizedMeanSquaredError(logits, expected) < 1e-6)
        }
    }

    @Test func `generations read their own prompts, side by side`() async throws {
        let model = try await LocalModel.load(from: try Self.tiny(.separate).write(in: directory))
        let prompts: [[Int32]] = [input, Array(input.reversed()), [9, 8, 7]]
        func text(_ prompt: [Int32]) async throws -> ([Int32], Usage?) {
            var ids: [Int32] = []
            var usage: Usage?
            let options = SamplingOptions(temperature: 0, maximumTokens: 12)
            for try await piece in model.generate(tokens: prompt, options: options) {
                ids += piece.tokens
                usage = piece.finish?.usage ?? usage
            }
            return (ids, usage)
        }
        var alone: [[Int32]] = []
        for prompt in prompts {
            // The likeliest tokens, one after the other.
            var expected: [Int32] = [3]
            while expected.count <= 12 {
                let logits = try await model.logits(of: expected, encoding: prompt).suffix(56)
                expected.append(Int32(logits.indices.max { logits[$0] < logits[$1] }! - logits.startIndex))
            }
            let (ids, usage) = try await text(prompt)
            #expect(Array(expected.dropFirst().prefix(ids.count)) == ids)
            #expect(usage?.promptTokens == prompt.count)
            alone.append(ids)
        }
        #expect(Set(alone).count == 3)
        let together = try await withThrowingTaskGroup(of: (Int, [Int32]).self) { group in
            for (index, prompt) in prompts.enumerated() { group.addTask { (index, try await text(prompt).0) } }
            return try await group.reduce(into: [Int: [Int32]]()) { $0[$1.0] = $1.1 }
        }
        #expect((0..<3).map { together[$0] } == alone)
    }

    @Test func `its embeddings are its encoder's, and what needs one sequence is refused`() async throws {
        let tiny = Self.tiny(.none)
        let model = try await LocalModel.load(from: try tiny.write(in: directory))
        let vector = try await model.embeddings(of: [input], options: .init(normalizes: false))[0]
        #expect(normalizedMeanSquaredError(vector, NaiveEncoder(tiny).mean(input)) < 1e-10)
        await #expect(throws: LocalModelError.self) { try await model.logits(of: tokens) }
        await #expect(throws: LocalModelError.self) { try await model.logprobs(of: tokens, top: 1) }
        await #expect(throws: LocalModelError.self) { try await model.measure(prompt: 4, generate: 0) }
        let llama = try await LocalModel.load(from: try TinyModel().write(in: directory))
        await #expect(throws: LocalModelError.self) { try await llama.logits(of: tokens, encoding: input) }
    }
}

/// Logits of Flan-T5's decoder against the reference implementation's.
@Suite(.enabled(if: Fixtures.exist("more/flan-t5.json"), "needs ../shared/fixtures"))
struct T5FixtureTests {
    private struct Case: Decodable {
        let encoder_ids: [Int32]
        let decoder_ids: [Int32]
    }

    @Test(arguments: [24, 5, 1])
    func `gives the reference's logits`(chunk: Int) async throws {
        let test = try JSONDecoder().decode(Case.self, from: Data(contentsOf: Fixtures.url("more/flan-t5.json")))
        let model = try await LocalModel.load(from: Fixtures.url("more/flan-t5.gguf"))
        let logits = try await model.logits(of: test.decoder_ids, encoding: test.encoder_ids, chunk: chunk)
        #expect(normalizedMeanSquaredError(logits, try Fixtures.floats("more/flan-t5.f32")) < 1e-5)
    }
}
