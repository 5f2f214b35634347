import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(1))) struct EventLoopTests {
    private actor Worker {
        private let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        private var (asked, turns) = (0, 0)
        private var counts: [Int] = []

        init(_ loop: EventLoop) { self.loop = loop }

        private func takeTurn() async {
            asked += 1
            await withCheckedContinuation { loop.takeTurn($0) }
            turns += 1
        }

        /// Asks for turns. Once all are asked for, enqueues jobs, each from the one before.
        ///
        /// - Returns: The number of turns before each job, and in the end.
        func run(turns count: Int, jobs: Int) async -> [Int] {
            // They prefer the loop, as the tasks that serve connections do: else turns pass through the pool of threads, and
            // several come at once.
            let tasks = (0..<count).map { _ in Task(executorPreference: loop) { await self.takeTurn() } }
            await withCheckedContinuation { runJob(jobs, after: count, $0) }
            for task in tasks { await task.value }
            return counts + [turns]
        }

        private func runJob(_ rest: Int, after count: Int, _ end: CheckedContinuation<Void, Never>) {
            let isReady = asked == count
            if isReady { counts.append(turns) }
            guard rest > 1 || !isReady else { return end.resume() }
            Task(executorPreference: loop) { await self.runJob(isReady ? rest - 1 : rest, after: count, end) }
        }
    }

    @Test func `long work takes turns with everything else on the loop`() async throws {
        let counts = await Worker(try EventLoop.shared.get()).run(turns: 100, jobs: 50)
        let first = try #require(counts.first)
        // A task begins on the loop and then enters the actor, so a job takes up to two rounds. Without turns all would come
        // before the second or third job.
        #expect(counts.dropLast().enumerated().allSatisfy { $1 - first <= 2 * $0 }, "\(counts)")
        #expect(counts.last == 100)
    }
}
