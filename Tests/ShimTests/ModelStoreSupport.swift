import Foundation
import Synchronization
import TestSupport

@testable import LocalLLM
@testable import Shim

/// What a store of models sees of the machine: memory that engines take as long as they live, time that stands still
/// until it is told to go on, and loading that waits to be let through.
final class FakeMachine: Sendable {
    private final class Loaded {
        weak var engine: ScriptedLanguageModel?
        init(_ engine: ScriptedLanguageModel) { self.engine = engine }
    }

    private struct State: @unchecked Sendable {
        var loaded: [Loaded] = []
        var loads: [String] = []
        var error: (any Error)?
        var isOpen = true
        var gates: [CheckedContinuation<Void, Never>] = []
        var now = Duration.zero
        var sleepers: [(until: Duration, CheckedContinuation<Void, Never>)] = []
    }

    /// Of each model.
    static let bytes = 100
    private let memory: Int
    private let script: ScriptedLanguageModel.Script
    private let state = Mutex(State())

    /// - Parameter script: What all engines say.
    init(memory: Int = 1_000_000, script: ScriptedLanguageModel.Script = .init()) {
        self.memory = memory
        self.script = script
    }

    var tools: ModelStore.Tools {
        .init(
            load: { [self] file, progress in try await load(file, progress) },
            estimate: { [self] _ in estimate }, availableMemory: { [self] in available },
            sleep: { [self] in try await sleep($0) })
    }

    /// Names of what was loaded, in order.
    var loads: [String] { state.withLock { $0.loads } }
    /// Whether loading goes through, or waits.
    func open(_ isOpen: Bool) {
        let gates = state.withLock { state in
            state.isOpen = isOpen
            defer { if isOpen { state.gates = [] } }
            return isOpen ? state.gates : []
        }
        for gate in gates { gate.resume() }
    }

    func fail(with error: (any Error)?) { state.withLock { $0.error = error } }

    /// Lets time go on; who has slept long enough wakes up.
    func advance(by duration: Duration) {
        let awake = state.withLock { state in
            state.now += duration
            defer { state.sleepers.removeAll { $0.until <= state.now } }
            return state.sleepers.filter { $0.until <= state.now }
        }
        for sleeper in awake { sleeper.1.resume() }
    }

    /// How many wait for time to go on.
    var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    private var available: Int {
        memory - state.withLock { $0.loaded.count { $0.engine != nil } } * Self.bytes
    }

    private var estimate: MemoryEstimate {
        MemoryEstimate(
            weights: Self.bytes, cache: 0, scratch: 0, vocabulary: 0, contextSize: 1, available: available)
    }

    private func load(_ file: ModelFile, _ progress: @Sendable (Double) -> Void) async throws -> ScriptedLanguageModel {
        progress(0.25)
        await withCheckedContinuation { gate in
            let isOpen = state.withLock { state in
                state.loads.append(file.id)
                if !state.isOpen { state.gates.append(gate) }
                return state.isOpen
            }
            if isOpen { gate.resume() }
        }
        if let error = state.withLock({ $0.error }) { throw error }
        let engine = ScriptedLanguageModel(script)
        state.withLock { $0.loaded.append(Loaded(engine)) }
        return engine
    }

    private func sleep(_ duration: Duration) async throws {
        await withCheckedContinuation { continuation in
            // What polls goes on at once.
            let isPoll = duration < .seconds(1)
            if !isPoll { state.withLock { $0.sleepers.append(($0.now + duration, continuation)) } }
            if isPoll { continuation.resume() }
        }
        try Task.checkCancellation()
    }
}

/// Waits until something holds; how long says only how busy a machine may be.
func eventually(_ condition: () -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + .seconds(240)
    while !condition(), .now < deadline { try? await Task.sleep(for: .milliseconds(2)) }
    return condition()
}
