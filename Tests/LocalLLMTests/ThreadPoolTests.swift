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

    /// So that each reads consecutive weights.
    @Test(arguments: [2, 3], [2, 7, 64])
    func `a worker does its own pieces in order, and then the last ones of others`(threads: Int, pieces: Int) {
        let pool = ThreadPool(count: threads)
        defer { pool.stop() }
        for _ in 0..<50 {
            let done = (0..<threads).map { _ in List() }
            pool.forEach(pieces) { piece, worker in done[worker].pieces.withLock { $0.append(piece) } }
            for worker in 0..<threads {
                let share = pieces * worker / threads..<pieces * (worker + 1) / threads
                let order = done[worker].pieces.withLock { $0 }
                let own = order.prefix { share.contains($0) }
                #expect(own == Array(share.prefix(own.count))[...])
                for other in (0..<threads).map({ pieces * $0 / threads..<pieces * ($0 + 1) / threads }) {
                    let taken = order.dropFirst(own.count).filter { other.contains($0) }
                    #expect(taken == taken.sorted(by: >))
                }
            }
        }
    }

    @Test(arguments: [1, 2, 3, 8])
    func `side work is done once, beside regions or at its end`(threads: Int) {
        let pool = ThreadPool(count: threads)
        defer { pool.stop() }
        for items in [0, 1, 2, 7, 100] {
            let (side, pieces) = ((0..<items).map { _ in Box() }, (0..<50).map { _ in Box() })
            for round in 1...20 {
                pool.beginSideWork(side.map { box in { box.add() } })
                for _ in 0..<5 { pool.forEach(50) { piece, _ in pieces[piece].add() } }
                pool.finishSideWork()
                #expect(side.allSatisfy { $0.value == round })
            }
            #expect(pieces.allSatisfy { $0.value == 100 })
        }
    }

    @Test func `side work runs beside a region`() {
        let pool = ThreadPool(count: 2)
        defer { pool.stop() }
        let begun = Box()
        pool.beginSideWork([{ begun.add() }])
        // The caller's pieces wait for the side work, which the other worker does.
        pool.forEach(2) { _, worker in
            while worker == 0, begun.value == 0 {}
        }
        pool.finishSideWork()
        #expect(begun.value == 1)
    }

    private final class List: Sendable {
        let pieces = Mutex<[Int]>([])
    }

    private final class Box: Sendable {
        private let count = Atomic<Int>(0)
        var value: Int { count.load(ordering: .sequentiallyConsistent) }
        @discardableResult func add() -> Int { count.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue }
        func subtract() { count.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
    }
}
