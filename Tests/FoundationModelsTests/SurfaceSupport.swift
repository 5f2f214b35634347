import Foundation
import Observation
import TestSupport

@testable import FoundationModels
@testable import LocalLLM

/// The model in models/, which answers simple questions.
let bundledModel = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../models/hearth-4m.gguf").standardized

/// A model that answers nonsense, which never ends if it is greedy; each byte is a token. Instructions, prompts and answers become `s:…;`, `u:…;`, `a:…;`.
func tinyModel(
    context: Int = 128, template: String? = nil, useCase: SystemLanguageModel.UseCase = .general
) throws -> SystemLanguageModel {
    let directory = try TemporaryDirectory()
    var model = TinyModel()
    model.context = context
    if let template { model.template = template }
    var builder = model.builder()
    // The end of a text has no weight, so that another token is always likelier.
    let output = builder.tensors.firstIndex { $0.name == "output.weight" }!
    let row = 4 * model.width
    builder.tensors[output].data.replaceSubrange(
        Int(TinyModel.endOfSequence) * row..<(Int(TinyModel.endOfSequence) + 1) * row,
        with: Array(repeating: 0, count: row))
    let file = URL(filePath: try directory.write(builder.bytes(), as: "tiny.gguf"))
    return SystemLanguageModel(
        ModelHost(.file(file), configuration: .init(threads: 1)), useCase, .init([Keeper(directory)]))
}

/// Keeps a directory for as long as a model that uses it.
private struct Keeper: Guardrail {
    let directory: TemporaryDirectory
    init(_ directory: TemporaryDirectory) { self.directory = directory }
    func review(_ text: GuardedText) -> GuardrailVerdict { .pass(upTo: text.text.endIndex) }
}

extension GenerationOptions {
    static func greedy(_ count: Int?) -> Self { Self(samplingMode: .greedy, maximumResponseTokens: count) }
}

extension Transcript {
    /// A conversation of so many turns, each with texts of so many characters: `1aaa…`, `2aaa…`.
    static func turns(_ count: Int, length: Int, instructions: String? = nil) -> Self {
        var entries = instructions.map { [Entry.instructions(.init(segments: .init(text: $0)))] } ?? []
        for turn in 1...count {
            let text = "\(turn)".padding(toLength: length, withPad: "a", startingAt: 0)
            entries.append(.prompt(.init(segments: .init(text: text))))
            entries.append(.response(.init(assetIDs: [], segments: .init(text: text))))
        }
        return Self(entries: entries)
    }

    var texts: [String] { map(\.text) }
}

/// Waits until something is so; the caller's time limit is the test's.
func eventually(_ condition: @Sendable () async throws -> Bool) async throws {
    while try await !condition() { try await Task.sleep(for: .milliseconds(5)) }
}

/// Waits for the change after `read`, as a user interface would.
func change<Value: Sendable>(of read: @escaping @Sendable () -> Value, by body: () throws -> Void) async rethrows {
    let (changes, continuation) = AsyncStream<Void>.makeStream()
    withObservationTracking {
        _ = read()
    } onChange: {
        continuation.yield()
    }
    try body()
    for await _ in changes { break }
}
