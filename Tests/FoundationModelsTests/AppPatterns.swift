import Foundation
public import FoundationModels
import Observation

// What packages and apps for the 27 SDK do, each in a few lines: `AppPatternTests` runs it.

// MARK: Modifiers of the history, as a package of patterns has them

extension LanguageModelSession.DynamicProfile {
    /// Shows the model only the last entries.
    func rollingWindow(entries: Int) -> some LanguageModelSession.DynamicProfile {
        historyTransform { Array($0.suffix(entries)) }
    }

    /// Leaves calls out of what the model reads once their turn has been answered.
    func droppingCompletedToolCalls() -> some LanguageModelSession.DynamicProfile {
        historyTransform { history in
            let lastPrompt = history.lastIndex { if case .prompt = $0 { true } else { false } } ?? history.endIndex
            return history.enumerated().filter { index, entry in
                switch entry {
                case .toolCalls, .toolOutput: index > lastPrompt
                default: true
                }
            }.map(\.element)
        }
    }

    /// Replaces a long history by a summary, which another session writes.
    func summarizeHistory(over threshold: Int, by model: some LanguageModel) -> some LanguageModelSession.DynamicProfile
    {
        modifier(SummarizeHistory(threshold: threshold, model: model))
    }
}

private struct SummarizeHistory<Model: LanguageModel>: LanguageModelSession.DynamicProfileModifier {
    let threshold: Int
    let model: Model
    @SessionProperty(\.history) var history

    func body(content: Content) -> some DynamicProfile {
        content.onPrompt { prompt in
            guard history.count > threshold else { return }
            let text = history.dropLast().map(\.description).joined(separator: "\n")
            let summary = try await LanguageModelSession(model: model, instructions: "Summarize.").respond(to: text)
            let entry = Transcript.Response(assetIDs: [""], segments: [.text(.init(content: summary.content))])
            history = [.response(entry), .prompt(prompt)]
        }
    }
}

// MARK: Skills that the model switches on

struct Skill: Sendable {
    let name, summary, text: String
}

extension SessionPropertyValues {
    @SessionPropertyEntry var activeSkills: Set<String> = []
}

struct Skills: DynamicInstructions {
    let skills: [Skill]
    @SessionProperty(\.activeSkills) var active

    var body: some DynamicInstructions {
        Instructions("Switch on the skill that fits.")
        ActivateSkill(names: skills.map(\.name))
        DynamicInstructionsForEach(Array(skills.enumerated()), id: \.element.name) { item in
            Instructions {
                "## \(item.element.name)"
                if active.contains(item.element.name) { item.element.text } else { item.element.summary }
            }
        }
    }
}

struct ActivateSkill: Tool {
    let name = "activate_skill"
    let description = "Switches a skill on"
    let names: [String]
    @SessionProperty(\.activeSkills) var active

    var parameters: GenerationSchema {
        get {
            let name = DynamicGenerationSchema(name: "skill", anyOf: names)
            let root = DynamicGenerationSchema(
                name: "Arguments", properties: [.init(name: "name", description: "The skill", schema: name)])
            return (try? GenerationSchema(root: root, dependencies: [])) ?? GeneratedContent.generationSchema
        }
    }

    func call(arguments: GeneratedContent) async throws -> String {
        let name = try arguments.value(String.self, forProperty: "name")
        active.insert(name)
        return "\(name) is active."
    }
}

// MARK: A provider that writes the transcript as messages of its own

struct Message: Codable, Equatable {
    var role: String
    var content: String
}

func messages(for transcript: Transcript) throws -> [Message] {
    try transcript.flatMap { entry -> [Message] in
        switch entry {
        case .instructions(let instructions):
            [Message(role: "system", content: try text(of: instructions.segments, entry))]
        case .prompt(let prompt): [Message(role: "user", content: try text(of: prompt.segments, entry))]
        case .response(let response): [Message(role: "assistant", content: try text(of: response.segments, entry))]
        case .toolCalls(let calls):
            calls.map { Message(role: "call", content: "\($0.toolName) \($0.arguments.jsonString)") }
        case .toolOutput(let output): [Message(role: "tool", content: try text(of: output.segments, entry))]
        case .reasoning: []
        @unknown default: []
        }
    }
}

private func text(of segments: [Transcript.Segment], _ entry: Transcript.Entry) throws -> String {
    try segments.map { segment in
        switch segment {
        case .text(let text): return text.content
        case .structure(let value): return value.content.jsonString
        case .attachment(let attachment): return attachment.label ?? "image"
        case .custom:
            throw LanguageModelError.unsupportedTranscriptContent(
                .init(unsupportedContent: [entry], debugDescription: "Custom segments have no place in a message."))
        @unknown default: return ""
        }
    }.joined(separator: "\n")
}

// MARK: A view model

@Generable
public struct Voyage {
    @Guide(description: "The name of the trip")
    public var title: String
    @Guide(.count(2))
    public var stops: [Stop]

    @Generable
    public struct Stop {
        public var place: String
        @Guide(.range(1...5)) public var days: Int
    }
}

@MainActor @Observable
final class Planner<Model: LanguageModel> {
    public let session: LanguageModelSession
    private(set) var itinerary: Voyage.PartiallyGenerated?
    private(set) var lastSnapshot: LanguageModelSession.ResponseStream<Voyage>.Snapshot?
    private(set) var problem: Problem?

    init(model: Model) {
        session = LanguageModelSession(model: model) { "Plan trips." }
    }

    func plan(_ wish: String) async {
        do {
            let stream = session.streamResponse(to: wish, generating: Voyage.self, includeSchemaInPrompt: false)
            for try await snapshot in stream {
                itinerary = snapshot.content
                lastSnapshot = snapshot
            }
        } catch {
            problem = Problem(error)
        }
    }
}

/// Errors as an app shows them.
struct Problem: Equatable {
    let text: String

    init(_ error: any Error) {
        switch error {
        case let error as LanguageModelError: text = Self.text(of: error)
        case let error as LanguageModelSession.ToolCallError: text = "tool \(error.tool.name)"
        case let error as GeneratedContent.ParsingError: text = "unreadable: \(error.rawContent)"
        default: text = error.localizedDescription
        }
    }

    private static func text(of error: LanguageModelError) -> String {
        switch error {
        case .contextSizeExceeded(let details): "\(details.tokenCount) of \(details.contextSize)"
        case .rateLimited(let details): "busy until \(details.resetDate?.timeIntervalSince1970 ?? 0)"
        case .refusal(let details): details.debugDescription
        default: error.localizedDescription
        }
    }
}
