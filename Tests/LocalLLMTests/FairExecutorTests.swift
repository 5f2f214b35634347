import Foundation
import Synchronization
import Testing

@testable import LocalLLM

@Suite(.timeLimit(.minutes(2))) struct FairExecutorTests {
    /// Work that takes a thread until it is told to end.
    private final class Gate: Sendable {
        private let semaphore = DispatchSemaphore(value: 0)
        func open() { semaphore.signal() }
        func hold() { semaphore.wait() }
    }

    private final class Record: Sendable {
        let begun = Atomic<Int>(0)
        let order = Mutex<[String]>([])
    }

    @Test func `a client's work waits for its own, not for another's`() async throws {
        let fair = FairExecutor(name: "test", threads: 4)
        let gates = (0..<10).map { _ in Gate() }
        let record = Record()
        let many = fair.executor(for: "many")
        let tasks = gates.map { gate in
            Task(executorPreference: many) {
                record.begun.add(1, ordering: .relaxed)
                gate.hold()
            }
        }
        while record.begun.load(ordering: .relaxed) < 2 { try await Task.sleep(for: .milliseconds(1)) }
        // Half of the threads are left to others, however many of its own wait.
        for index in 0..<20 {
            let other = fair.executor(for: "other \(index)")
            #expect(await Task(executorPreference: other) { index }.value == index)
        }
        #expect(record.begun.load(ordering: .relaxed) == 2)
        for gate in gates { gate.open() }
        for task in tasks { await task.value }
        #expect(record.begun.load(ordering: .relaxed) == 10)
    }

    @Test func `clients take turns`() async throws {
        let fair = FairExecutor(name: "test", threads: 1)
        let gate = Gate()
        let record = Record()
        let first = Task(executorPreference: fair.executor(for: "a")) { gate.hold() }
        var tasks: [Task<Void, Never>] = []
        for client in ["a", "a", "a", "b", "c"] {
            tasks.append(
                Task(executorPreference: fair.executor(for: client)) { record.order.withLock { $0.append(client) } })
        }
        gate.open()
        await first.value
        for task in tasks { await task.value }
        let found = record.order.withLock { $0 }
        #expect(found.sorted() == ["a", "a", "a", "b", "c"])
        // Neither waits for more than one of the other's three.
        #expect(found.firstIndex(of: "b")! <= 3 && found.firstIndex(of: "c")! <= 3)
        #expect(found.suffix(1) == ["a"])
    }

    @Test func `work goes on where it left off after it has waited`() async throws {
        let fair = FairExecutor(name: "test", threads: 2)
        let sums = await withTaskGroup(of: Int.self) { group in
            for client in 0..<8 {
                group.addTask(executorPreference: fair.executor(for: "\(client)")) {
                    var sum = 0
                    for value in 0..<20 {
                        await Task.yield()
                        sum += value
                    }
                    return sum
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sums == Array(repeating: 190, count: 8))
    }
}
