@testable import Engine
import Foundation
import Synchronization
import Testing

@testable import LocalLLM

@Suite struct SideQueueTests {
    private static let (limit, clientLimit) = (16, 4)

    private func makeThreads() -> FairThreads {
        FairThreads(name: "test", limit: Self.limit, clientLimit: Self.clientLimit)
    }

    @Test(.timeLimit(.minutes(1))) func `a client with much work leaves threads to others`() {
        let threads = makeThreads()
        let (gate, begun, done) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        let queues = (0..<Self.limit).map { _ in SideQueue(threads, client: "many") }
        for queue in queues {
            queue.add {
                begun.signal()
                gate.wait()
            }
        }
        for _ in 0..<Self.clientLimit { begun.wait() }
        let other = SideQueue(threads, client: "other")
        other.add { done.signal() }
        done.wait()
        // The other client's work ran, and no more of the first one's has begun.
        #expect(begun.wait(timeout: .now()) == .timedOut)
        for _ in queues { gate.signal() }
        for _ in queues.dropFirst(Self.clientLimit) { begun.wait() }
        threads.stop()
    }

    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func `threads that are stopped finish the work that waits`(isLow: Bool) {
        let threads = makeThreads()
        let (gate, begun) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let count = Mutex(0)
        let queues = (0..<3 * Self.clientLimit).map { _ in SideQueue(threads, client: "many") }
        for queue in queues {
            queue.add {
                begun.signal()
                gate.wait()
                count.withLock { $0 += 1 }
            }
        }
        for _ in 0..<Self.clientLimit { begun.wait() }
        if isLow { for queue in queues { queue.lower() } }
        threads.stop()
        for _ in queues { gate.signal() }
        while queues.contains(where: \.isBusy) { usleep(1_000) }
        #expect(count.withLock { $0 } == queues.count)
    }

    @Test(.timeLimit(.minutes(1))) func `work of one text runs in its order, one piece at a time`() {
        let threads = makeThreads()
        let queue = SideQueue(threads, client: "one")
        let order = Mutex<[Int]>([])
        for index in 0..<1_000 { queue.add { order.withLock { $0.append(index) } } }
        while queue.isBusy { usleep(1_000) }
        #expect(order.withLock { $0 } == Array(0..<1_000))
        threads.stop()
    }
}
