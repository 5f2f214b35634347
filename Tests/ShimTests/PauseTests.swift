import Testing

@testable import Shim

@Suite struct PauseTests {
    @Test func `it lasts as long as it should, or until it is cancelled`() async throws {
        let clock = ContinuousClock()
        #expect(try await clock.measure { try await pause(for: .milliseconds(30)) } >= .milliseconds(30))
        try await pause(for: .zero)

        let sleepers = (0..<100).map { _ in Task { try await pause(for: .seconds(3600)) } }
        for (index, sleeper) in sleepers.enumerated() {
            // Some before they begin, some after.
            if index % 2 == 0 { await Task.yield() }
            sleeper.cancel()
        }
        for sleeper in sleepers { await #expect(throws: CancellationError.self) { try await sleeper.value } }
    }
}
