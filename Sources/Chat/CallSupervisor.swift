import Foundation

/// Runs a model's calls: one at a time, each after whoever types has allowed it, and shows what they return.
@MainActor
final class CallSupervisor {
    /// Most characters of a result that are shown; the model reads all of it.
    private static let mostShown = 2000

    private let terminal: Terminal
    /// Shows the answer that the call interrupts.
    var view: AnswerView?
    /// Ends the answer.
    var cancel: (@MainActor () -> Void)?
    /// The call before.
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
            // The answer ends by being cancelled, which is no failure of the tool.
            try await Task.sleep(for: .seconds(60))
            throw CancellationError()
        }
        let result = try await command.run()
        let shown = result.prefix(Self.mostShown)
        terminal.note(shown.count < result.count ? shown + "…" : result)
        return result
    }
}
