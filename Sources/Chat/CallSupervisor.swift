import Foundation
import Observation

/// Runs a model's tool calls one at a time, each after the user's consent, and shows the results.
@MainActor @Observable
final class CallSupervisor {
    /// Maximum characters of a result to show; the model gets all of it.
    private static let mostShown = 2000

    /// Number of calls that the answer's stream has announced. The text that precedes them is on the screen.
    var announcedCalls = 0
    /// Number of calls of the answer that were shown.
    @ObservationIgnored private var shownCalls = 0
    @ObservationIgnored private let terminal: Terminal
    /// The view of the current answer, paused during a call.
    @ObservationIgnored private var view: AnswerView?
    /// Cancels the answer.
    @ObservationIgnored private var cancel: (@MainActor () -> Void)?
    /// The previous call.
    @ObservationIgnored private var last: Task<Void, Never>?

    init(_ terminal: Terminal) { self.terminal = terminal }

    /// Starts to supervise the calls of an answer.
    func begin(_ view: AnswerView, cancel: @escaping @MainActor () -> Void) {
        (self.view, self.cancel) = (view, cancel)
        (announcedCalls, shownCalls) = (0, 0)
    }

    func end() { (view, cancel) = (nil, nil) }

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
        // The model runs ahead of its stream: the text before a call may not have arrived yet.
        for await announced in observedValues({ self.announcedCalls }) where announced > shownCalls { break }
        try Task.checkCancellation()
        shownCalls += 1
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
