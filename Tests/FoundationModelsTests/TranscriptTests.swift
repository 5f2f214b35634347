import Foundation
import Testing

@testable import FoundationModels
@testable import LocalLLM

@Suite struct TranscriptTests {
    @Test func `it comes back from JSON as it was`() throws {
        var transcript = Transcript.turns(2, length: 4, instructions: "Be nice.")
        let options = GenerationOptions(
            samplingMode: .random(top: 3, seed: .max), temperature: 0.5, maximumResponseTokens: 7)
        transcript.append(.prompt(.init(id: "p", segments: [.text(.init(id: "t", content: "ü"))], options: options)))
        transcript.record(Transcript.Omission(entryIDs: transcript[1...2].map(\.id), summary: "They said a."))
        let data = try JSONEncoder().encode(transcript)
        #expect(try JSONDecoder().decode(Transcript.self, from: data) == transcript)
    }

    @Test(arguments: [
        #"{"type": "x", "version": 2, "entries": []}"#,
        #"{"type": "x", "version": 1, "entries": [{"role": "tool", "id": "1", "contents": []}]}"#,
        #"{"type": "x", "version": 1, "entries": [{"role": "user", "id": "1", "contents": [{"type": "image", "id": "2"}]}]}"#,
    ])
    func `what is not known is refused, not lost`(json: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Transcript.self, from: Data(json.utf8)) }
    }

    @Test func `a window has whole turns, and none that was left out`() {
        var transcript = Transcript.turns(3, length: 1, instructions: "i")
        transcript.record(Transcript.Omission(entryIDs: transcript[1...2].map(\.id), summary: "s"))
        let window = ConversationWindow(transcript)
        #expect(window.instructions.map(\.text) == ["i"])
        #expect(window.turns.map { $0.map(\.text) } == [["2", "2"], ["3", "3"]])
        #expect(window.summary == "s")
    }

    @Test func `prompts and instructions are made of strings, arrays and conditions`() {
        let isLong = false
        let prompt = Prompt {
            "a"
            ["b", "c"]
            if isLong { "d" } else { "e" }
            for number in 1...2 { "\(number)" }
            Prompt("f")
        }
        #expect(prompt.text == "a\nb\nc\ne\n1\n2\nf")
        let instructions = Instructions {
            "a"
            if isLong { "b" }
            ["c"]
        }
        #expect(instructions.text == "a\nc")
    }

    @Test func `options of a local model are kept in JSON, and the common ones replace theirs`() throws {
        var options = GenerationOptions(temperature: 0.5)
        options[custom: LocalModel.self] = SamplingOptions(
            temperature: 0.9, minP: 0.1, logitBias: [5: -1], seed: 7, maximumTokens: 9, stop: ["x"],
            xtc: .init(probability: 0.5), mirostat: .init(.two), stopTokens: [3])
        let decoded = try JSONDecoder().decode(GenerationOptions.self, from: JSONEncoder().encode(options))
        #expect(decoded == options)
        let sampling = SamplingOptions(decoded)
        #expect(sampling.temperature == 0.5 && sampling.minP == 0.1 && sampling.seed == 7)
        #expect(sampling.logitBias == [5: -1] && sampling.maximumTokens == 9 && sampling.mirostat?.version == .two)
        options.maximumResponseTokens = 4
        #expect(SamplingOptions(options).maximumTokens == 4)
    }

    @Test func `a mode of sampling replaces what the model's file recommends`() {
        #expect(SamplingOptions(GenerationOptions()) == SamplingOptions())
        #expect(SamplingOptions(.init(samplingMode: .greedy, temperature: 1)).temperature == 0)
        #expect(GenerationOptions(samplingMode: .greedy).samplingMode == .greedy)
        let top = SamplingOptions(
            .init(samplingMode: .random(top: 5, seed: 3), temperature: 0.5, maximumResponseTokens: 9))
        #expect(top == SamplingOptions(temperature: 0.5, topK: 5, topP: 1, minP: 0, seed: 3, maximumTokens: 9))
        let nucleus = SamplingOptions(.init(samplingMode: .random(probabilityThreshold: 0.8)))
        #expect(nucleus == SamplingOptions(topK: 0, topP: 0.8, minP: 0))
    }
}
