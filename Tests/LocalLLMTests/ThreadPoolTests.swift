import Synchronization
import Testing

@testable import LocalLLM

@Suite struct ThreadPoolTests {
    @Test(arguments: [1, 2, 3, 8])
    func `every piece is done once, in every region`(threads: Int) {
        let pool = ThreadPool(count: threads)
        defer { pool.stop() }
        for pieces in [0, 1, 2, 7, 64, 1_000] {
            let done = (0..<pieces).map { _ in Box() }
            for _ in 0..<20 { pool.forEach(pieces) { piece, _ in done[piece].add() } }
            #expect(done.allSatisfy { $0.value == 20 })
        }
    }

    @Test func `worker indices are distinct while they work`() {
        let pool = ThreadPool(count: 4)
        defer { pool.stop() }
        let inside = (0..<4).map { _ in Box() }
        let clashes = Box()
        pool.forEach(2_000) { _, worker in
            if inside[worker].add() != 0 { clashes.add() }
            inside[worker].subtract()
        }
        #expect(clashes.value == 0)
    }

    private final class Box: Sendable {
        private let count = Atomic<Int>(0)
        var value: Int { count.load(ordering: .sequentiallyConsistent) }
        @discardableResult func add() -> Int { count.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue }
        func subtract() { count.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
    }
}
