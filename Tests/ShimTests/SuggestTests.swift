import Foundation
import HTTP
import LocalLLM
import Synchronization
import TestSupport
import Testing

@testable import AppGateway
@testable import Shim

@Suite(.timeLimit(.minutes(5))) struct SuggestTests {
    private func suggest(_ router: Services, _ fields: String) async -> Answer {
        await router.answer("POST", "/api/suggest", "{\(fields)}")
    }

    private func texts(_ answer: Answer) -> [String] {
        (answer.json["suggestions"] as? [[String: String]] ?? []).compactMap { $0["text"] }
    }

    @Test func `suggestions of the bundled model are distinct, and as many as asked for`() async throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../models").standardized
        let name = try FileManager.default.contentsOfDirectory(atPath: folder.path).first { $0.hasSuffix(".gguf") }
        let router = router(try await LocalModel.load(from: folder.appending(path: try #require(name))))
        let three = texts(await suggest(router, #""text": "The capital of France is""#))
        #expect(three.count == 3)
        #expect(Set(three).count == 3)
        #expect(three.first?.hasPrefix(" ") == true)
        #expect(texts(await suggest(router, #""text": "The capital of France is""#)) == three)
        let one = texts(await suggest(router, #""text": "The capital of France is", "max_suggestions": 1"#))
        #expect(one == Array(three.prefix(1)))
        // What is typed already is not suggested again.
        let afterBlank = texts(await suggest(router, #""text": "The capital of France is ""#))
        #expect(afterBlank.first == three.first.map { String($0.dropFirst()) })
        #expect(afterBlank.allSatisfy { !$0.hasPrefix(" ") })
        // Longer than is read, and texts that are hard to cut.
        let long = String(repeating: "I would like to ", count: 150)
        for text in [long, "👩‍👩‍👧 ", " ", "<|im_end|>"] {
            let answer = await suggest(router, #""text": "\#(text)""#)
            #expect(answer.status == 200, "\(text)")
            #expect(Set(texts(answer)).count == texts(answer).count)
        }
    }

    /// The scripted engine finds two bytes likely after any text: what they begin is told apart by them.
    @Test(arguments: [
        (["ello. And", " more"], FinishReason.stop, "ello."), (["at 3.5 per", "cent"], .stop, "at 3.5 percent"),
        (["one two thr"], .length, "one two"), (["ongword"], .length, "ongword"), (["  "], .stop, ""),
    ])
    func `a suggestion ends with its sentence, or before a word that was cut off`(
        _ texts: [String], _ reason: FinishReason, _ end: String
    ) async throws {
        let engine = ScriptedLanguageModel(.init(texts: texts, reason: reason))
        let found = self.texts(await suggest(router(engine), #""text": "Well", "max_suggestions": 8"#))
        #expect(!found.isEmpty && Set(found).count == found.count)
        #expect(found.allSatisfy { $0.hasSuffix(end) })
        let asked = engine.asked.withLock { $0 }
        #expect(asked.first?.options.maximumTokens == 1)
        #expect(asked.dropFirst().allSatisfy { $0.options.temperature == 0 && $0.options.stop == ["\n"] })
        #expect(Set(asked.dropFirst().map { $0.tokens.last }).count == asked.count - 1)
    }

    @Test(arguments: [
        (#""text": """#, "text"), (#""prompt": "x""#, "text"),
        (#""text": "x", "max_suggestions": 0"#, "max_suggestions"),
        (#""text": "x", "max_suggestions": 9"#, "max_suggestions"), (#""text": "x", "model": "none""#, "model"),
    ])
    func `mistakes are named`(_ fields: String, _ name: String) async {
        let answer = await suggest(router(ScriptedLanguageModel()), fields)
        #expect(answer.status == 400 || answer.status == 404)
        #expect(answer.error["param"] as? String == name)
    }

    @Test func `the next keystroke of a user ends what the one before was waiting for`() async throws {
        let engine = ScriptedLanguageModel(.init(prefill: .seconds(60)))
        let fixture = try ClientFixture(engine: engine)
        func begin(_ text: String, _ fields: String = "", app: String = "org.a", peer: String = "10.0.0.1:1") -> Task<
            Answer, any Error
        > {
            Task {
                try await fixture.send(
                    "/api/suggest", #"{"text": "\#(text)"\#(fields)}"#,
                    ["Authorization": "Bearer pk_v1_public", "X-App-Identifier": app], peer: peer)
            }
        }
        func asked(_ count: Int) async throws {
            while engine.asked.withLock({ $0.count }) < count { try await Task.sleep(for: .milliseconds(5)) }
        }
        // Who they are: what the app says, else where they are; and which app they use.
        var others: [Task<Answer, any Error>] = []
        for (fields, app, peer) in [
            (#", "user": "b""#, "org.a", "10.0.0.1:1"), ("", "org.b", "10.0.0.1:1"), ("", "org.a", "10.0.0.2:1"),
        ] {
            others.append(begin("H", fields, app: app, peer: peer))
            try await asked(others.count)
        }
        let first = begin("H")
        try await asked(4)
        let second = begin("He", peer: "10.0.0.1:2")
        let superseded = try await first.value
        #expect(superseded.status == 409)
        #expect(superseded.error["code"] as? String == "superseded")
        #expect(await engine.isCancelled(1, within: .seconds(10)))
        try await asked(5)
        for task in others + [second] { task.cancel() }
        for task in others + [second] {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(await engine.isCancelled(5, within: .seconds(10)))
    }
}
