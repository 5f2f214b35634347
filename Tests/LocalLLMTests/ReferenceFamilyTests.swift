@testable import Networks
@testable import Compute
@testable import Engine
import Foundation
import KernelFormats
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// Every decoder of the reference data: logits at every position, however the tokens enter.
///
/// The data are those of the repository (`ReferenceModel`), and more of the same in `../shared/fixtures` if that exists. One case runs
/// at a time: hundreds of them would keep tests of other suites waiting.
@Suite(.serialized)
struct ReferenceFamilyTests {
    struct Reference: Sendable, CustomTestStringConvertible {
        enum Source: Sendable {
            case repository(ReferenceModel)
            case fixture(folder: String)
        }

        let name: String
        let tokens: [Int32]
        let source: Source
        var testDescription: String { name }

        /// The model; that of the repository is written into `directory`.
        func url(in directory: TemporaryDirectory) throws -> URL {
            switch source {
            case .repository(let model): try model.write(in: directory)
            case .fixture(let folder): Fixtures.url("\(folder)/\(name).gguf")
            }
        }

        func logits() throws -> [Float] {
            switch source {
            case .repository(let model): model.results
            case .fixture(let folder): try Fixtures.floats("\(folder)/\(name).logits.f32")
            }
        }
    }

    private struct Index: Decodable {
        struct Case: Decodable { let token_ids: [Int32] }
        let cases: [String: Case]
    }

    private static let models = ReferenceModel.all.filter {
        $0.sequences == nil && Registry.families[$0.architecture] != nil
    }

    private static let fixtures: [Reference] = ["architectures", "more"].flatMap { folder in
        let index = try? JSONDecoder().decode(Index.self, from: Data(contentsOf: Fixtures.url("\(folder)/index.json")))
        return (index?.cases ?? [:]).sorted { $0.key < $1.key }
            .map { Reference(name: $0, tokens: $1.token_ids, source: .fixture(folder: folder)) }.filter { reference in
                // llama.cpp has another norm and other weights of experts than the published model.
                if reference.name == "phimoe-moe" { return false }
                let file = try? GGUFFile(path: Fixtures.url("\(folder)/\(reference.name).gguf").path)
                let architecture = try? file?.metadata.string("general.architecture")
                return architecture.map { Registry.families[$0] != nil } ?? false
            }
    }

    private static let own = models.map { Reference(name: $0.name, tokens: $0.tokens, source: .repository($0)) }
    private static let all = own + fixtures

    private let directory: TemporaryDirectory
    private let compute = Compute(kernels: .best, threads: 2)

    init() throws { directory = try TemporaryDirectory() }

    private func network(_ reference: Reference) throws -> any Network {
        try Registry.network(for: GGUFFile(path: reference.url(in: directory).path))
    }

    @Test func `the list of architectures says how each is checked`() {
        let makers = Dictionary(grouping: ReferenceModel.all, by: \.architecture)
            .mapValues { $0.contains { $0.madeWith.hasPrefix("transformers") } }
        for architecture in Architecture.all {
            let check: Architecture.Check =
                switch makers[architecture.name] {
                case true?: .transformers
                case false?: .paper
                case nil: .none
                }
            #expect(architecture.check == check, "\(architecture.name)")
        }
    }

    /// Keys and values are halves in the engine; the reference's are floats.
    private static let tolerance = 1e-5

    private func forward(
        _ tokens: ArraySlice<Int32>, _ state: SequenceState, _ network: any Network, isAnswer: Bool = false
    ) -> [Float] {
        var step = Step()
        step.append(tokens, to: state, output: .all, isAnswer: isAnswer)
        return floats(network.forward(step, on: compute))
    }

    private func floats(_ matrix: Matrix) -> [Float] {
        (0..<matrix.rows).flatMap { Array(UnsafeBufferPointer(start: matrix[$0], count: matrix.columns)) }
    }

    private func rows(_ matrix: Matrix) -> [[Float]] {
        (0..<matrix.rows).map { Array(UnsafeBufferPointer(start: matrix[$0], count: matrix.columns)) }
    }

    private func expect(
        _ found: [Float], _ expected: some Collection<Float>, _ comment: Comment,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        guard found.count == expected.count else {
            Issue.record("\(found.count) logits instead of \(expected.count)", sourceLocation: sourceLocation)
            return
        }
        // Without those that are suppressed in both: they would outweigh all others.
        let given = zip(found, expected).filter { $0 != $1 || $1 > -Float.greatestFiniteMagnitude }
        let error = normalizedMeanSquaredError(given.map(\.0), given.map(\.1))
        #expect(error <= Self.tolerance, comment, sourceLocation: sourceLocation)
    }

    @Test(arguments: all)
    func `logits are the reference's, at once, in chunks and token by token`(_ reference: Reference) throws {
        let network = try network(reference)
        let expected = try reference.logits()
        for chunk in [reference.tokens.count, 5, 1] {
            let state = network.makeState()
            var found: [Float] = []
            for start in stride(from: 0, to: reference.tokens.count, by: chunk) {
                let piece = reference.tokens[start..<min(start + chunk, reference.tokens.count)]
                found += forward(piece, state, network, isAnswer: chunk == 1)
            }
            expect(found, expected, "chunks of \(chunk)")
        }
    }

    @Test(arguments: all)
    func `logits are the reference's side by side, after a fork and after a roll-back`(_ reference: Reference) throws {
        let network = try network(reference)
        let (tokens, expected) = (reference.tokens, try reference.logits())
        let (half, size) = (tokens.count / 2, expected.count / tokens.count)
        // The second is ahead of the first.
        let (first, second) = (network.makeState(), network.makeState())
        _ = forward(tokens[..<3], second, network)
        var step = Step()
        step.append(tokens[..<half], to: first, output: .all)
        step.append(tokens[3..<half], to: second, output: .all)
        let together = floats(network.forward(step, on: compute))
        expect(Array(together[..<(half * size)]), expected[..<(half * size)], "the first of two")
        expect(Array(together[(half * size)...]), expected[(3 * size)..<(half * size)], "the second of two")

        first.checkpoint()
        let (elsewhere, untouched) = (first.fork(), first.fork())
        _ = forward(tokens[..<7], elsewhere, network)
        _ = forward(tokens[1..<20], first, network)
        #expect(first.rollBack(to: half) == half)
        let rest = forward(tokens[half...], first, network)
        expect(rest, expected[(half * size)...], "after a roll-back")
        let isSame = forward(tokens[half...], untouched, network) == rest
        #expect(isSame, "a fork that nobody rolled back has the same bits")

        // Without a checkpoint there: the tokens between enter again.
        let length = first.rollBack(to: half + 5)
        #expect([half, half + 5].contains(length))
        expect(forward(tokens[length...], first, network), expected[(length * size)...], "after a second roll-back")
    }

    @Test(arguments: all)
    func `outputs of some rows have the bits that they have among those of all rows`(_ reference: Reference) throws {
        let network = try network(reference)
        let (tokens, half) = (reference.tokens, reference.tokens.count / 2)
        /// An answer of three tokens, two prompts, and then the rest of the second prompt.
        func logits(_ rows: [Step.Rows]) -> (together: [[Float]], rest: [[Float]]) {
            let states = (0..<3).map { _ in network.makeState() }
            _ = forward(tokens[..<3], states[0], network)
            var step = Step()
            step.append(tokens[3..<6], to: states[0], output: rows[0], isAnswer: true)
            step.append(tokens[..<half], to: states[1], output: rows[1])
            step.append(tokens[2..<half], to: states[2], output: rows[2])
            let together = self.rows(network.forward(step, on: compute))
            step = Step()
            step.append(tokens[half...], to: states[2], output: rows[1])
            return (together, self.rows(network.forward(step, on: compute)))
        }
        let all = logits([.all, .all, .all])
        let some = logits([.tail(2), .last, .none])
        #expect(some.together == [all.together[1], all.together[2], all.together[2 + half]])
        #expect(some.rest == [all.rest[all.rest.count - 1]])
        let last = logits([.none, .tail(half - 1), .all])
        #expect(last.together == Array(all.together[4...]))
        let none = logits([.none, .none, .none])
        #expect(none.together.isEmpty && none.rest.isEmpty)
    }

    /// Latent keys, windows, positions in images, memories beside attention: whatever the family's state is.
    @Test(arguments: all, [KVCacheFormat.q8_0, .q4])
    func `a cache of fewer bits gives similar logits, and the same ones after a roll-back`(
        _ reference: Reference, format: KVCacheFormat
    ) throws {
        let network = try network(reference)
        var shape = network.stateShape
        shape.format = format
        let state = SequenceState(shape)
        let (tokens, expected) = (reference.tokens, try reference.logits())
        let half = tokens.count / 2
        var found = forward(tokens[..<half], state, network)
        state.checkpoint()
        let fork = state.fork()
        _ = forward(tokens[1..<20], state, network)
        #expect(state.rollBack(to: half) == half)
        let rest = forward(tokens[half...], state, network)
        let isSame = forward(tokens[half...], fork, network) == rest
        #expect(isSame, "a fork that nobody rolled back has the same bits")
        found += rest
        // Gemma 4 does not scale its scores, so their errors are larger; in its mixture an expert may change.
        let limit = format == .q4 ? 3e-2 : 1e-3
        let isUnscaled = reference.name.hasPrefix("gemma4")
        #expect(normalizedMeanSquaredError(found, expected) < (isUnscaled ? 20 * limit : limit))
    }

    @Test(arguments: own)
    func `a second turn computes less than a tenth of the first, also after a restart, and has the same text`(
        _ reference: Reference
    ) async throws {
        let url = try reference.url(in: directory)
        let kept = try TemporaryDirectory()
        var configuration = LocalModel.Configuration(contextSize: 1024, threads: 2)
        let fresh = try await LocalModel.load(from: url, configuration: configuration)
        configuration.cacheDirectory = kept.url
        let model = try await LocalModel.load(from: url, configuration: configuration)
        func answer(_ model: LocalModel, _ prompt: [Int32]) async throws -> (tokens: [Int32], cached: Int) {
            var (tokens, cached): ([Int32], Int) = ([], 0)
            let options = SamplingOptions(temperature: 0, maximumTokens: 6)
            for try await piece in model.generate(tokens: prompt, options: options) {
                tokens += piece.tokens
                if let usage = piece.finish?.usage { cached = usage.cachedTokens }
            }
            return (tokens, cached)
        }
        let prompt = (0..<640).map { index in
            let place = index * index / 11 + index
            return reference.tokens[place % reference.tokens.count]
        }
        let first = try await answer(model, prompt)
        let turn = Array(prompt.dropLast(5)) + first.tokens + Array(reference.tokens.prefix(9))
        func pages() -> Int {
            PrefixStore.models(in: kept.url.path).flatMap(PrefixStore.files).count { $0.path.hasSuffix(".kv") }
        }
        for _ in 0..<6000 where pages() < (prompt.count - 5) / pageTokens {
            try await Task.sleep(for: .milliseconds(5))
        }
        let restarted = try await LocalModel.load(from: url, configuration: configuration)
        let after = try await answer(restarted, turn)
        let second = try await answer(model, turn)
        #expect(after.cached == second.cached && after.tokens == second.tokens)
        #expect(first.cached == 0)
        #expect(turn.count - second.cached < prompt.count / 10)
        #expect(try await answer(fresh, turn).tokens == second.tokens)
    }

    @Test(arguments: all)
    func `continuations of a prompt are as likely as in a reading of the whole text`(_ reference: Reference)
        async throws
    {
        let model = try await LocalModel.load(
            from: try reference.url(in: directory), configuration: .init(contextSize: 1024, threads: 2))
        let tokens = (0..<300).map { reference.tokens[($0 * $0 / 7 + $0) % reference.tokens.count] }
        // The second branch is computed in two steps.
        let branches = [45..<50, 45..<200, 45..<46].map { range in
            ContinuationReading.Branch(
                tokens: Array(tokens[range]), media: nil,
                continuations: [[tokens[200]], Array(tokens[210..<214]), Array(tokens[211..<213])])
        }
        let found = try await model.logprobs(of: branches, after: ModelPrompt(tokens: Array(tokens[..<45])), nil)
            .logprobs
        for (branch, found) in zip(branches, found) {
            for (continuation, found) in zip(branch.continuations, found) {
                let whole = tokens[..<45] + branch.tokens + continuation
                let expected = try await model.logprobs(of: Array(whole), top: 0).suffix(continuation.count)
                    .reduce(0) { $0 + $1.logprob }
                #expect(abs(found - expected) < 1e-3)
            }
        }
    }
}
