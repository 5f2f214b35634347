import Foundation
import FoundationModels
import Synchronization

/// A model of somebody else's: an executor that follows a script, and notes what it was asked.
struct ScriptedLanguageModel: LanguageModel {
    typealias Event = LanguageModelExecutorGenerationChannel.Event

    /// What the messages consist of, one after the other; the last is repeated.
    final class Script: Sendable {
        private let messages: [@Sendable (LanguageModelExecutorGenerationRequest) throws -> [Event]]
        private let state = Mutex(
            (next: 0, requests: [LanguageModelExecutorGenerationRequest](), executors: 0, warmed: 0))

        init(_ messages: [@Sendable (LanguageModelExecutorGenerationRequest) throws -> [Event]]) {
            self.messages = messages
        }

        convenience init(_ text: String) { self.init([{ _ in [.text(text)] }]) }

        func next(_ request: LanguageModelExecutorGenerationRequest) throws -> [Event] {
            let index = state.withLock { state in
                state.requests.append(request)
                defer { state.next += 1 }
                return min(state.next, messages.count - 1)
            }
            return try messages[index](request)
        }

        func countExecutor() { state.withLock { $0.executors += 1 } }
        func countPrewarm() { state.withLock { $0.warmed += 1 } }
        var requests: [LanguageModelExecutorGenerationRequest] { state.withLock { $0.requests } }
        var executors: Int { state.withLock { $0.executors } }
        var prewarms: Int { state.withLock { $0.warmed } }
    }

    let script: Script
    var name = "scripted"
    var capabilities = LanguageModelCapabilities([.guidedGeneration, .reasoning, .toolCalling, .vision])
    var executorConfiguration: Executor.Configuration { .init(name: name, script: script) }

    init(_ script: Script) { self.script = script }
    init(_ text: String) { script = .init(text) }

    struct Executor: LanguageModelExecutor {
        struct Configuration: Hashable, Sendable {
            let name: String
            let script: Script
            static func == (one: Self, other: Self) -> Bool { one.name == other.name }
            func hash(into hasher: inout Hasher) { hasher.combine(name) }
        }

        let script: Script

        init(configuration: Configuration) {
            script = configuration.script
            script.countExecutor()
        }

        func prewarm(model: ScriptedLanguageModel, transcript: Transcript) { script.countPrewarm() }

        func respond(
            to request: LanguageModelExecutorGenerationRequest, model: ScriptedLanguageModel,
            streamingInto channel: LanguageModelExecutorGenerationChannel
        ) async throws {
            for event in try script.next(request) { await channel.send(event) }
        }
    }
}

extension LanguageModelExecutorGenerationChannel.Event {
    static func text(_ text: String) -> Self { .response(action: .appendText(text, tokenCount: 1)) }
    static func thought(_ text: String) -> Self { .reasoning(action: .appendText(text, tokenCount: 1)) }

    static func call(_ name: String, _ arguments: String, id: String = "call-1") -> Self {
        .toolCalls(action: .toolCall(id: id, name: name, action: .appendArguments(arguments, tokenCount: 1)))
    }

    static func usage(input: Int, cached: Int, output: Int, reasoning: Int) -> Self {
        .response(
            action: .updateUsage(
                input: .init(totalTokenCount: input, cachedTokenCount: cached),
                output: .init(totalTokenCount: output, reasoningTokenCount: reasoning)))
    }
}

/// A list that any thread may add to.
final class Notes: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
}

/// A tool without arguments that notes its calls.
struct NotingTool: Tool {
    var name = "note"
    let description = "Notes that it was called"
    let notes: Notes
    var parameters: GenerationSchema { GenerationSchema(type: GeneratedContent.self, properties: []) }

    func call(arguments: GeneratedContent) async throws -> String {
        notes.add("\(name) runs")
        return "noted"
    }
}
