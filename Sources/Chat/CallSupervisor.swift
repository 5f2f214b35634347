import Foundation

/// Runs a model's tool calls one at a time, each after the user's consent, and shows the results.
@MainActor
final class CallSupervisor {
    /// Maximum characters of a result to show; the model gets all of it.
    private static let mostShown = 2000

    private let terminal: Terminal
    /// The view of the current answer, paused during a call.
    var view: AnswerView?
    /// Cancels the answer.
    var cancel: (@MainActor () -> Void)?
    /// The previous call.
    private var last: Task<Void, Never>?

    init(_ terminal: Terminal) { self.terminal = terminal }

    func run(_ command: ToolCommand, tool: String) async throws -> String {
        let before = last
        let work = Task {
            await before?.value
            return try await supervise(command, tool)
        }
        last = Task { _ = try? await work.value }
        return try await withTaskCancellationHandler {
            try await work.value
        } onCancel: {
            work.cancel()
        }
    }

    private func supervise(_ command: ToolCommand, _ tool: String) async throws -> String {
        try Task.checkCancellation()
        await view?.pause()
        defer { view?.goOn() }
        terminal.note("\(tool) \(command.input)")
        terminal.note("runs: \(command.description)")
        switch await terminal.ask("Run it? [y/N] ") {
        case .yes: break
        case .no: return "The user did not allow this call."
        case .interrupted:
            cancel?()
            // Wait for the cancellation, so that the call does not count as failed.
            try await Task.sleep(for: .seconds(60))
            throw CancellationError()
        }
        let result = try await command.run()
        let shown = result.prefix(Self.mostShown)
        terminal.note(shown.count < result.count ? shown + "…" : result)
        return result
    }
}
