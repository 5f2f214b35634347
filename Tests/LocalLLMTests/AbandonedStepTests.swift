@testable import Engine
@testable import Networks
import Synchronization
import Testing
import Tiers

@testable import LocalLLM

@Suite struct AbandonedStepTests {
    /// Computes until nobody wants the result any more, or for a minute.
    private final class SlowNetwork: Network {
        var stateShape = StateShape([.keysAndValues(heads: 1, keyWidth: 8, valueWidth: 8)])
        let vocabularySize = 4
        let trainedContext = 128
        let steps: StepCounts
        private let work = Workspace()

        init(_ steps: StepCounts) { self.steps = steps }

        func forward(_ step: Step, on compute: Compute) -> Matrix {
            steps.begun.withLock { $0 += 1 }
            let limit = ContinuousClock.now + .seconds(60)
            while !step.isAbandoned() { if .now > limit { return work[.logits, step.outputRows.count, 4] } }
            steps.abandoned.withLock { $0 += 1 }
            return work[.logits, step.outputRows.count, 4]
        }
    }

    private final class StepCounts: Sendable {
        let begun = Mutex(0)
        let abandoned = Mutex(0)

        func wait(for count: Int, of mutex: borrowing Mutex<Int>) async throws {
            while mutex.withLock({ $0 < count }) { try await Task.sleep(for: .milliseconds(1)) }
        }
    }

    @Test(.timeLimit(.minutes(3))) func `a step that nobody waits for any more ends early`() async throws {
        let counts = StepCounts()
        let thread = ModelThread(
            network: SlowNetwork(counts), compute: Compute(kernels: .best, threads: 1), tokenizer: nil,
            cacheBytes: 1 << 30, spareBytes: { 1 << 20 }, queueLimit: 8)
        defer { thread.stop() }
        let request = ModelThread.Request(
            tokens: [Int32](repeating: 1, count: 100), chain: .init(), options: .init(), maximumTokens: 4)
        let generation = thread.submit(request)
        try await counts.wait(for: 1, of: counts.begun)
        generation.cancel()
        try await counts.wait(for: 1, of: counts.abandoned)

        // Nor does anybody once the engine stops.
        let kept = thread.submit(request)
        try await counts.wait(for: 2, of: counts.begun)
        thread.stop()
        try await counts.wait(for: 2, of: counts.abandoned)
        await #expect(throws: LocalModelError.shutDown) { for try await _ in kept {} }
    }
}
