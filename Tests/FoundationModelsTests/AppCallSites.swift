import Foundation
import FoundationModels

// What an app for FoundationModels looks like. `AppCallSiteTests` runs it.

@MainActor
final class AssistantViewModel {
    private(set) var messages: [String] = []
    private(set) var currentStreamingContent = ""
    private(set) var problem: String?
    private var session: LanguageModelSession
    private let model: SystemLanguageModel

    init(model: SystemLanguageModel = .default) {
        self.model = model
        session = LanguageModelSession(model: model) {
            "You are a friendly assistant."
            if Locale.current.language.languageCode != nil { "Answer in the user's language." }
        }
        session.prewarm()
    }

    var availabilityText: String {
        switch model.availability {
        case .available: "ready"
        case .unavailable(.deviceNotEligible): "not on this device"
        case .unavailable(.appleIntelligenceNotEnabled): "switched off"
        case .unavailable(.modelNotReady): "not yet"
        @unknown default: "unknown"
        }
    }

    var canSend: Bool { model.isAvailable && !session.isResponding }

    func send(_ text: String) async {
        messages.append(text)
        problem = nil
        do {
            let options = GenerationOptions(samplingMode: .greedy, maximumResponseTokens: 40)
            let stream = session.streamResponse(to: text, options: options)
            for try await snapshot in stream { currentStreamingContent = snapshot.content }
            messages.append(currentStreamingContent)
        } catch LanguageModelError.contextSizeExceeded {
            session = condensed()
            await send(messages.removeLast())
        } catch let error as LanguageModelError {
            messages.removeLast()
            problem = Self.text(for: error)
        } catch {
            problem = error.localizedDescription
        }
        currentStreamingContent = ""
    }

    func recap() async throws -> String {
        let options = GenerationOptions(maximumResponseTokens: 20)
        #if compiler(>=6.2)
            return try await session.respond(options: options) {
                "Say in a few words what this is about:"
                messages
            }.content
        #else
            // Swift 6.0 does not let the closure, which reads state of the main actor, leave it.
            let prompt = Prompt {
                "Say in a few words what this is about:"
                messages
            }
            return try await session.respond(to: prompt, options: options).content
        #endif
    }

    static func text(for error: LanguageModelError) -> String {
        switch error {
        case .contextSizeExceeded(let context): "too long: \(context.tokenCount) of \(context.contextSize)"
        case .guardrailViolation: "content blocked: \(error.localizedDescription)"
        case .unsupportedGenerationGuide(let guide): "no such format: \(guide.schemaName ?? "")"
        case .unsupportedLanguageOrLocale(let language): "no \(language.languageCode.identifier)"
        case .rateLimited(let limit): "busy until \(limit.resetDate?.description ?? "later")"
        case .timeout: "busy"
        case .refusal(let refusal): "refused: \(refusal.debugDescription)"
        case .unsupportedCapability(let missing): "cannot: \(missing.capability)"
        case .unsupportedTranscriptContent(let content): "cannot read \(content.unsupportedContent.count)"
        @unknown default: error.recoverySuggestion ?? "unknown"
        }
    }

    /// A new session with the first and the last entry of the old one.
    private func condensed() -> LanguageModelSession {
        let all = session.transcript
        var kept: [Transcript.Entry] = []
        if let first = all.first { kept.append(first) }
        if all.count > 1, let last = all.last { kept.append(last) }
        return LanguageModelSession(model: model, transcript: Transcript(entries: kept))
    }

    /// The conversation as the user interface lists it.
    var lines: [String] {
        session.transcript.map { entry in
            switch entry {
            case .instructions(let instructions): "instructions \(instructions.toolDefinitions.count)"
            case .prompt(let prompt): "you: \(Self.text(of: prompt.segments))"
            case .response(let response): "model: \(Self.text(of: response.segments))"
            case .toolCalls, .toolOutput: "tool"
            case .reasoning: "thoughts"
            @unknown default: "?"
            }
        }
    }

    private static func text(of segments: [Transcript.Segment]) -> String {
        segments.compactMap { segment in
            if case .text(let text) = segment { text.content } else { nil }
        }.joined()
    }

    func save() throws -> Data { try JSONEncoder().encode(session.transcript) }

    func restore(_ data: Data) throws {
        session = LanguageModelSession(model: model, transcript: try JSONDecoder().decode(Transcript.self, from: data))
    }
}

/// One-off requests, from no actor in particular.
struct Summarizer: Sendable {
    var model = SystemLanguageModel(useCase: .general, guardrails: .default)

    func title(for notes: [String], isShort: Bool) async throws -> String {
        let session = LanguageModelSession(model: model, instructions: "Write a title.")
        let response = try await session.respond(
            options: GenerationOptions(temperature: 0.3, maximumResponseTokens: 12)
        ) {
            "Find a title for these notes:"
            notes
            if isShort { "At most five words." }
        }
        return response.content
    }

    func compare(_ text: String) async throws -> (plain: String, whole: String) {
        let plain = try await LanguageModelSession(model: model).respond(
            to: Prompt(text),
            options: GenerationOptions(samplingMode: .random(top: 5, seed: 7), maximumResponseTokens: 8))
        let stream = LanguageModelSession(model: model, instructions: Instructions("Be brief.")).streamResponse(
            to: text,
            options: GenerationOptions(samplingMode: .random(probabilityThreshold: 0.9), maximumResponseTokens: 8)
        )
        return (plain.content, try await stream.collect().content)
    }
}

/// With no tools, as code that may have some begins sessions.
struct Tagger: Sendable {
    var model = SystemLanguageModel(useCase: .contentTagging, guardrails: .permissiveContentTransformations)

    func tags(for text: String) async throws -> [Substring] {
        let session = LanguageModelSession(model: model, tools: [], instructions: "At most three.")
        let options = GenerationOptions(samplingMode: .greedy, maximumResponseTokens: 12)
        return try await session.respond(to: text, options: options).content.split(separator: ",")
    }

    /// A conversation that the app makes up, to begin with.
    func sessions() -> [LanguageModelSession] {
        let prompt = Transcript.Prompt(
            id: "p", segments: [.text(.init(id: "t", content: "Hi"))], options: GenerationOptions(), responseFormat: nil
        )
        let response = Transcript.Response(assetIDs: [], segments: [.text(Transcript.TextSegment(content: "Hello!"))])
        let instructions = Transcript.Instructions(segments: [], toolDefinitions: [])
        let entries: [Transcript.Entry] = [.instructions(instructions), .prompt(prompt), .response(response)]
        return [
            LanguageModelSession(model: model, tools: [], transcript: Transcript(entries: entries)),
            LanguageModelSession(model: model, tools: []) { "Be brief." },
            LanguageModelSession(tools: []),
        ]
    }
}

/// Code written for the 27 SDK counts by other names.
func usageOf27(_ session: LanguageModelSession) async throws -> (input: Int, cached: Int, output: Int, all: Int) {
    var options = GenerationOptions(samplingMode: .greedy, maximumResponseTokens: 8)
    options.samplingMode = .random(top: 3, seed: 1)
    let usage: LanguageModelSession.Usage = try await session.respond(to: "Hello", options: options).usage
    return (
        usage.input.totalTokenCount, usage.input.cachedTokenCount, usage.output.totalTokenCount, usage.totalTokenCount
    )
}

/// Code written for the 27 SDK catches by other names.
func namesOf27(_ error: any Error) -> String {
    do {
        throw error
    } catch LanguageModelSession.Error.concurrentRequests {
        return "concurrent"
    } catch SystemLanguageModel.Error.assetsUnavailable {
        return "unavailable"
    } catch let error as LanguageModelError {
        return error.failureReason ?? ""
    } catch {
        return "other"
    }
}
