@testable import Engine
import Foundation
import TestSupport
import Testing
import Tiers
import Tokenizer

@testable import Constraint
@testable import LocalLLM

/// Constraint as state of a sequence: the text has its shape whatever happens to the sequence, and is the same text.
@Suite struct ConstrainedGenerationTests {
    /// An engine over a toy network, with a vocabulary of 64 tokens that suffices for JSON without spaces.
    private final class Toy {
        static let tokenizer: TextTokenizer = {
            let characters = #"{}[]":,.-0123456789abcdefghijklmnopqrstuvwxyz"#.map(String.init)
            let merges = [
                "t e", "m p", "te mp", "e r", "a t", "u r", "er at", "ur e", "temp erat", "temperat ure", "{ \"",
                "\" :",
            ]
            let made = merges.map { $0.replacing(" ", with: "") }
            let others = (0..<63 - characters.count - made.count).map { "<unused\($0)>" }
            let tokens = characters + made + others + ["</s>"]
            var description = TokenizerDescription(model: "gpt2", tokens: tokens.map { Array($0.utf8) })
            description.pre = "gpt-2"
            description.merges = merges.map { Array($0.utf8) }
            description.types = Array(repeating: 1, count: characters.count + made.count) + others.map { _ in 3 } + [3]
            description.endOfSequence = 63
            return try! TextTokenizer(description)
        }()
        static let vocabulary = TokenVocabulary(tokenizer)

        let thread: ModelThread
        let work = ToyWork()

        init(_ layers: [LayerState] = [ToyNetwork.keysAndValues], isTight: Bool = false, threads: Int = 1) {
            let network = ToyNetwork(layers, counting: work)
            let bytes = isTight ? 4 * network.stateShape.bytes(tokens: 60) : 1 << 22
            thread = ModelThread(
                network: network, compute: Compute(kernels: .best, threads: threads), tokenizer: Self.tokenizer,
                cacheBytes: bytes, spareBytes: { bytes }, queueLimit: 64)
        }

        deinit { thread.stop() }

        func submit(_ prompt: [Int32], _ options: SamplingOptions) -> Generation {
            thread.submit(
                ModelThread.Request(
                    tokens: prompt, chain: Sampler.Chain().overridden(by: options), options: options,
                    maximumTokens: options.maximumTokens ?? 1000))
        }
    }

    private struct Answer: Equatable {
        var text = ""
        var tokens: [Int32] = []
        var logprobs = 0
        var reason: FinishReason?
    }

    private func collect(_ generation: Generation) async throws -> Answer {
        var answer = Answer()
        for try await piece in generation {
            answer.text += piece.text
            answer.tokens += piece.tokens
            answer.logprobs += piece.logprobs.count
            answer.reason = piece.finish?.reason
        }
        return answer
    }

    private static func tokens(_ count: Int, seed: Int = 1) -> [Int32] {
        (0..<count).map { index in
            let token = (index * 37 + index / 7 * seed) % 61
            return Int32(token)
        }
    }

    private static let readings = #"""
        {"type": "object", "additionalProperties": false, "required": ["temperature", "pressure"], "properties": {
            "temperature": {"type": "array", "minItems": 8, "maxItems": 40,
                "items": {"type": "integer", "minimum": 0, "maximum": 99}},
            "pressure": {"enum": ["low", "high"]}}}
        """#

    private struct Readings: Decodable {
        let temperature: [Int]
        let pressure: String
    }

    private func toyConstraint(_ source: Constraint.Source) throws -> GenerationConstraint {
        GenerationConstraint(try Constraint.compile(source, vocabulary: Toy.vocabulary))
    }

    // MARK: Sequences

    @Test(arguments: ToyLayers.all)
    func `sequences that are preempted and rolled back write the same constrained text`(toy: ToyLayers) async throws {
        let constraint = try toyConstraint(.jsonSchema(Self.readings))
        func options(_ seed: UInt64) -> SamplingOptions {
            SamplingOptions(temperature: 1, seed: seed, maximumTokens: 200, constraint: constraint)
        }
        let (tight, roomy) = (Toy(toy.layers, isTight: true), Toy(toy.layers))
        let prompts = (2..<7).map { Self.tokens(100, seed: $0) }
        let generations = prompts.map { tight.submit($0, options(7)) }
        for (prompt, generation) in zip(prompts, generations) {
            let answer = try await collect(generation)
            #expect(try await collect(roomy.submit(prompt, options(7))) == answer)
            #expect(answer.reason == .stop)
            let readings = try JSONDecoder().decode(Readings.self, from: Data(answer.text.utf8))
            #expect((8...40).contains(readings.temperature.count))
        }
    }

    @Test(arguments: [0, 1])
    func `sequences that sample side by side write what each writes alone`(temperature: Double) async throws {
        let constraints = try [
            toyConstraint(.jsonSchema(Self.readings)), toyConstraint(.regex("([a-f]{2}-?){5,9}")), nil,
        ]
        func options(_ number: Int) -> SamplingOptions {
            SamplingOptions(
                temperature: temperature, seed: UInt64(number), maximumTokens: 90, constraint: constraints[number % 3])
        }
        let (one, several) = (Toy(), Toy(threads: 4))
        let prompts = (0..<12).map { Self.tokens(20, seed: $0) }
        let generations = prompts.indices.map { several.submit(prompts[$0], options($0)) }
        for (number, generation) in generations.enumerated() {
            let answer = try await collect(generation)
            #expect(try await collect(one.submit(prompts[number], options(number))) == answer)
            #expect(!answer.tokens.isEmpty)
        }
    }

    @Test func `a mask computed ahead is the mask after the forced tokens`() throws {
        let constraint = try toyConstraint(.jsonSchema(Self.readings))
        func tokens(_ text: String) -> [Int32] { Toy.tokenizer.encode(text, addSpecial: false, parseSpecial: false) }
        // A space may precede the text, so the first token is a choice.
        let first = tokens("{\"")[0]
        var follower = ConstraintFollower(constraint, Toy.tokenizer)
        #expect(follower.wantsMask, "the first choice is likely to need one")
        try follower.accept(first)
        let forced = try follower.forcedTokens()
        #expect(!forced.isEmpty)
        follower.prepareMask()
        for token in forced { try follower.accept(token) }
        var fresh = ConstraintFollower(constraint, Toy.tokenizer)
        for token in [first] + forced { try fresh.accept(token) }
        #expect(try follower.allowed() == fresh.allowed())
        // It does not serve for later choices.
        for token in tokens(#"{"temperature":[1"#)[(1 + forced.count)...] {
            #expect(try follower.allows(token) && !follower.wantsMask)
            try follower.accept(token)
            try fresh.accept(token)
        }
        #expect(try follower.allowed() == fresh.allowed())
        #expect(try !follower.allows(tokens("x")[0]) && follower.wantsMask)
    }

    @Test func `forced text ends before a token that may go on beyond it`() throws {
        func token(_ text: String) -> Int32 { Toy.tokenizer.encode(text, addSpecial: false, parseSpecial: false)[0] }
        for (texts, forced) in [
            (["at\"a", "at\"b"], [token("at"), token("\"")]), (["at\":", "at\"b"], [token("at")]),
            (["at\""], [token("at"), token("\"")]),
        ] {
            var follower = ConstraintFollower(try toyConstraint(.choice(texts)), Toy.tokenizer)
            #expect(try follower.forcedTokens() == forced, "\(texts)")
        }
    }

    @Test(arguments: ToyLayers.all)
    func `bytes without a choice take no step of their own`(toy: ToyLayers) async throws {
        let schema = #"""
            {"type": "object", "additionalProperties": false, "required": ["temperaturetemperature", "temperate"],
             "properties": {"temperaturetemperature": {"type": "boolean"}, "temperate": {"type": "boolean"}}}
            """#
        let model = Toy(toy.layers)
        let answer = try await collect(
            model.submit(
                Self.tokens(40),
                SamplingOptions(
                    temperature: 1, seed: 3, topLogprobs: 1, constraint: try toyConstraint(.jsonSchema(schema)))))
        #expect(answer.text.wholeMatch(of: /\{"temperaturetemperature":(true|false),"temperate":(true|false)\}/) != nil)
        let word = Toy.tokenizer.encode("temperature", addSpecial: false, parseSpecial: false)
        #expect(answer.tokens.count { $0 == word[0] } == 2, "forced text has the tokenizer's tokens")
        #expect(answer.logprobs == answer.tokens.count, "each token has one, also where there was no choice")
        #expect(model.work.steps < answer.tokens.count)
    }

    @Test func `an answer that only repeats itself ends, unless its length is given or it has no choice`() async throws
    {
        let model = Toy()
        func token(_ text: String) -> Int32 { Toy.tokenizer.encode(text, addSpecial: false, parseSpecial: false)[0] }
        func count(_ source: Constraint.Source?, _ limit: Int? = nil) async throws -> String {
            let options = SamplingOptions(
                temperature: 0, logitBias: [token("a"): 1000, token("b"): 900, 63: -1000], maximumTokens: limit,
                constraint: try source.map { try toyConstraint($0) })
            let answer = try await collect(model.submit(Self.tokens(10), options))
            return "\(answer.tokens.count) \(answer.reason.map { "\($0)" } ?? "-")"
        }
        #expect(try await count(.regex("a+")) == "512 length")
        #expect(try await count(.regex("([ab]{20}c)+")) == "512 length")
        #expect(try await count(.regex("a+"), 700) == "700 length")
        #expect(try await count(nil) == "1000 length")
        #expect(try await count(.regex("(ab){400}")) == "801 stop")
        // What it repeats is too long.
        #expect(try await count(.regex("([ab]{70}c)+")) == "1000 length")
    }

    @Test(.timeLimit(.minutes(2)), arguments: [1, 2])
    func `work for a constraint holds up its own text only`(threads: Int) async throws {
        let model = Toy(threads: threads)
        let slow = try Constraint.compile(.jsonSchema(Self.readings), vocabulary: Toy.vocabulary)
        let (began, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        // Stands for a mask that takes long: nothing else can be worked out for this constraint meanwhile.
        Thread.detachNewThread {
            var place = Constraint.EpochState(state: .text(0), epoch: -1)
            try? slow.with(&place, text: []) { _, _ in
                began.signal()
                mayEnd.wait()
            }
        }
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                began.wait()
                continuation.resume()
            }
        }
        func options(_ constraint: GenerationConstraint?) -> SamplingOptions {
            SamplingOptions(temperature: 1, seed: 5, maximumTokens: 40, constraint: constraint)
        }
        let waiting = model.submit(Self.tokens(20), options(GenerationConstraint(slow)))
        let left = model.submit(Self.tokens(30), options(GenerationConstraint(slow)))
        for seed in 2..<5 {
            #expect(try await collect(model.submit(Self.tokens(20, seed: seed), options(nil))).tokens.count == 40)
            let other = try toyConstraint(.regex("[a-f]{39}"))
            #expect(try await collect(model.submit(Self.tokens(20, seed: seed), options(other))).reason == .stop)
            left.cancel()
        }
        mayEnd.signal()
        let answer = try await collect(waiting)
        let other = Toy()
        let alone = try await collect(other.submit(Self.tokens(20), options(toyConstraint(.jsonSchema(Self.readings)))))
        #expect(answer == alone)
        withExtendedLifetime((model, other)) {}
    }

    @Test func `a vocabulary that cannot write the shape is an error and not another text`() async throws {
        let model = Toy()
        let impossible = SamplingOptions(temperature: 0, constraint: try toyConstraint(.regex("aÉ")))
        let error = await #expect(throws: LocalModelError.self) {
            try await collect(model.submit(Self.tokens(10), impossible))
        }
        guard case .constraintFailed = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        // The engine goes on.
        #expect(
            try await collect(model.submit(Self.tokens(10), .init(temperature: 0, maximumTokens: 3))).tokens.count > 0)
    }

    @Test func `each allowed token keeps its share of the probability`() throws {
        func token(_ text: String) -> Int { Int(Toy.tokenizer.encode(text, addSpecial: false, parseSpecial: false)[0]) }
        var logits = [Float](repeating: -20, count: 64)
        logits[token("a")] = 1
        logits[token("b")] = 0
        logits[token("c")] = 2
        let options = SamplingOptions(temperature: 1, minP: 0, seed: 11)
        var sampler = Sampler(
            chain: Sampler.Chain().overridden(by: options), options: options, prompt: [], tokenizer: Toy.tokenizer)
        let constraint = try toyConstraint(.choice(["a", "b"]))
        var count = 0
        for _ in 0..<20_000 {
            var follower = ConstraintFollower(constraint, Toy.tokenizer)
            let chosen = try logits.withUnsafeBufferPointer { try sampler.next($0, under: &follower) }
            #expect(chosen == Int32(token("a")) || chosen == Int32(token("b")))
            if chosen == Int32(token("a")) { count += 1 }
        }
        #expect(abs(Double(count) / 20_000 - 0.7311) < 0.015)
    }

    // MARK: Models

    private func tiny() async throws -> (LocalModel, TemporaryDirectory) {
        let directory = try TemporaryDirectory()
        return (
            try await LocalModel.load(
                from: try TinyModel().write(in: directory), configuration: .init(contextSize: 512, threads: 2)),
            directory
        )
    }

    private let prompt: [Int32] = "hello".utf8.map { TinyModel.token($0) }

    @Test func `greedy and seeded texts under a constraint are the same alone and in a crowd`() async throws {
        let (model, directory) = try await tiny()
        defer { withExtendedLifetime(directory) {} }
        let sources: [Constraint.Source] = [
            .jsonSchema(Self.readings), .regex("[a-f]{3}(-[0-9]{2,5}){4}"), .choice(["yes", "no", "perhaps"]),
            .grammar("root ::= (\"ab\" | \"ba\" root)"), .jsonSchema(Self.readings, .init(whitespace: .free)),
        ]
        let all = try (0..<20).map { number in
            let constraint = GenerationConstraint(try model.constraint(sources[number % sources.count]))
            return SamplingOptions(
                temperature: number % 2 == 0 ? 0 : 1, seed: UInt64(number), maximumTokens: 150,
                constraint: constraint)
        }
        var alone: [Answer] = []
        for options in all { alone.append(try await collect(model.generate(tokens: prompt, options: options))) }
        let generations = all.map { model.generate(tokens: prompt, options: $0) }
        for (index, generation) in generations.enumerated() {
            #expect(try await collect(generation) == alone[index])
            #expect(alone[index].reason == .stop || alone[index].reason == .length)
        }
        #expect(["yes", "no", "perhaps"].contains(alone[2].text))
        #expect(alone[1].text.wholeMatch(of: /[a-f]{3}(-[0-9]{2,5}){4}/) != nil)
    }

    @Test func `the end comes exactly where the text is complete`() async throws {
        let (model, directory) = try await tiny()
        defer { withExtendedLifetime(directory) {} }
        let constraint = GenerationConstraint(try model.constraint(.jsonSchema(Self.readings)))
        // A model that wants to end at once may not, and one that never wants to end has to.
        for bias in [1000.0, -1000] {
            let options = SamplingOptions(
                temperature: 1, logitBias: [TinyModel.endOfSequence: bias], seed: 5, constraint: constraint)
            let answer = try await collect(model.generate(tokens: prompt, options: options))
            _ = try JSONDecoder().decode(Readings.self, from: Data(answer.text.utf8))
            #expect(answer.reason == .stop && answer.tokens.last == TinyModel.endOfSequence)
            #expect(answer.tokens.dropLast() == answer.text.utf8.map { TinyModel.token($0) }[...])
        }
        // Where the text may end or go on, the model decides.
        let open = GenerationConstraint(try model.constraint(.regex("[0-9]+")))
        var options = SamplingOptions(
            temperature: 0, logitBias: [TinyModel.endOfSequence: 1000], maximumTokens: 30, constraint: open)
        #expect(try await collect(model.generate(tokens: prompt, options: options)).text.count == 1)
        options.minimumTokens = 10
        #expect(try await collect(model.generate(tokens: prompt, options: options)).text.count == 10)
        options.minimumTokens = 0
        options.ignoresEndOfSequence = true
        let cut = try await collect(model.generate(tokens: prompt, options: options))
        #expect(cut.text.count == 30 && cut.reason == .length)
    }

    @Test func `what follows a marker has the shape, and the text before it is free`() async throws {
        let (model, directory) = try await tiny()
        defer { withExtendedLifetime(directory) {} }
        let shape = try model.constraint(.regex("[0-9]{4}"))
        func options(_ seed: UInt64, isRequired: Bool) -> SamplingOptions {
            SamplingOptions(
                temperature: 1,
                logitBias: [
                    TinyModel.token(UInt8(ascii: "a")): 100, TinyModel.token(UInt8(ascii: "b")): 100,
                    TinyModel.endOfSequence: 100,
                ], seed: seed, maximumTokens: 400,
                constraint: GenerationConstraint(shape, after: "ab", isRequired: isRequired))
        }
        var (early, whole) = (0, 0)
        for seed in 0..<20 as Range<UInt64> {
            let required = try await collect(model.generate(tokens: prompt, options: options(seed, isRequired: true)))
            // A model may write one letter until the limit; the text has no end before the shape.
            let isWhole = required.text.wholeMatch(of: /[ab]*?ab[0-9]{4}/) != nil
            #expect(isWhole == (required.reason == .stop), "\(required.text)")
            #expect(isWhole || !required.text.contains("ab"), "\(required.text)")
            if isWhole { whole += 1 }
            let free = try await collect(model.generate(tokens: prompt, options: options(seed, isRequired: false)))
            let isShaped = free.text.wholeMatch(of: /[ab]*?ab[0-9]{4}/) != nil
            #expect(isShaped || !free.text.contains("ab"))
            if !isShaped { early += 1 }
        }
        #expect(early > 0 && whole > 0)
    }

    @Test func `a limit cuts the text where it is`() async throws {
        let (model, directory) = try await tiny()
        defer { withExtendedLifetime(directory) {} }
        let compact = Constraint.JSONStyle(whitespace: .compact)
        let constraint = GenerationConstraint(try model.constraint(.jsonSchema(Self.readings, compact)))
        let options = SamplingOptions(temperature: 1, seed: 5, maximumTokens: 9, constraint: constraint)
        let answer = try await collect(model.generate(tokens: prompt, options: options))
        #expect(answer.reason == .length && answer.tokens.count == 9)
        #expect(answer.text == #"{"tempera"#)
    }

    @Test func `a constraint of another model, or that no text satisfies, is refused`() async throws {
        let (model, directory) = try await tiny()
        defer { withExtendedLifetime(directory) {} }
        let nothing = GenerationConstraint(try model.constraint(.jsonSchema("false")))
        for constraint in [try toyConstraint(.regex("a")), nothing] {
            let error = await #expect(throws: LocalModelError.self) {
                try await collect(model.generate(tokens: prompt, options: .init(constraint: constraint)))
            }
            guard case .invalidOption = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        #expect(try model.constraint(.regex("x")) === model.constraint(.regex("x")), "compiled once")
        let error = #expect(throws: ConstraintError.self) {
            try model.constraint(.jsonSchema(#"{"properties": {"a": {"$ref": "https://example.org/x"}}}"#))
        }
        #expect(error?.path == "#/properties/a/$ref")
    }

    @Test func `forced text has the tokens that the tokenizer gives it`() async throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../models").standardized
        let model = try await LocalModel.load(from: folder.appending(path: "hearth-4m.gguf"))
        let name = "the_number_of_animals_that_live_in_the_house"
        let schema = #"""
            {"type": "object", "additionalProperties": false, "required": ["\#(name)", "name"],
             "properties": {"\#(name)": {"type": "integer"}, "name": {"type": "string", "maxLength": 20}}}
            """#
        let options = SamplingOptions(
            temperature: 0, maximumTokens: 200,
            constraint: GenerationConstraint(try model.constraint(.jsonSchema(schema))))
        let answer = try await collect(model.generate([.user("How many animals are there?")], options: options))
        #expect(answer.reason == .stop)
        let tokenizer = try model.tokenizer
        let canonical = tokenizer.encode(answer.text, addSpecial: false, parseSpecial: false)
        let forced = tokenizer.encode(#"{"\#(name)":"#, addSpecial: false, parseSpecial: false).dropLast()
        #expect(forced.count > 8 && canonical.starts(with: forced))
        #expect(answer.tokens.starts(with: forced))
    }

    @Test func `thoughts are closed in the template's way once their tokens are used up`() async throws {
        let (model, directory) = try await tiny()
        defer { withExtendedLifetime(directory) {} }
        func options(_ tokens: Int, areOpen: Bool, seed: UInt64) -> SamplingOptions {
            SamplingOptions(
                temperature: 1,
                logitBias: [
                    TinyModel.token(UInt8(ascii: "a")): 100, TinyModel.token(UInt8(ascii: "<")): 100,
                    TinyModel.token(UInt8(ascii: ">")): 100,
                ], seed: seed, maximumTokens: 60,
                thoughtLimit: .init(tokens: tokens, open: "<a>", close: "</a>", ending: "\n</a>\n\n", areOpen: areOpen))
        }
        for seed in 0..<8 as Range<UInt64> {
            let open = try await collect(model.generate(tokens: prompt, options: options(5, areOpen: true, seed: seed)))
            #expect(open.text.wholeMatch(of: /[a<>]{5}\n<\/a>\n\n[a<>]{48}/) != nil, "\(open.text)")
            let own = try await collect(model.generate(tokens: prompt, options: options(4, areOpen: false, seed: seed)))
            let isClosed = own.text.wholeMatch(of: /<a>[a<>]{4}\n<\/a>\n\n[a<>]*/) != nil
            #expect(isClosed == own.text.hasPrefix("<a>"), "\(own.text)")
        }
        // A shape after the thoughts is written after them.
        var shaped = options(3, areOpen: true, seed: 1)
        shaped.constraint = GenerationConstraint(
            try model.constraint(
                .sequence([
                    .until("</a>"), .literal("\n\n"), .constraint(try model.constraint(.regex("[0-9]{4}"))),
                ])))
        let answer = try await collect(model.generate(tokens: prompt, options: shaped))
        #expect(answer.text.wholeMatch(of: /[a<>]{3}\n<\/a>\n\n[0-9]{4}/) != nil, "\(answer.text)")
    }
}
