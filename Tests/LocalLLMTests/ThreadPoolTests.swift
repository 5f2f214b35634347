@testable import Compute
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
            for _ in 0..<20 { pool.forEachRun(pieces) { run, _ in for piece in run { done[piece].add() } } }
            #expect(done.allSatisfy { $0.value == 40 })
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

    /// So that each reads consecutive weights. Nobody goes on, and takes others' pieces, before all have begun.
    @Test(arguments: [2, 3], [3, 7, 64])
    func `a worker begins with the first of its own pieces, or with half of them`(threads: Int, pieces: Int) {
        let pool = ThreadPool(count: threads)
        defer { pool.stop() }
        for takesRuns in [false, true] {
            let (done, begun) = ((0..<threads).map { _ in List() }, Box())
            func body(_ run: Range<Int>, _ worker: Int) {
                let isFirst = done[worker].runs.isEmpty
                done[worker].append(run)
                if isFirst { begun.add() }
                while begun.value < threads {}
            }
            if takesRuns {
                pool.forEachRun(pieces, body)
            } else {
                pool.forEach(pieces) { piece, worker in body(piece..<piece + 1, worker) }
            }
            for worker in 0..<threads {
                let share = pieces * worker / threads..<pieces * (worker + 1) / threads
                let count = takesRuns ? (share.count + 1) / 2 : 1
                #expect(done[worker].runs.first == share.lowerBound..<share.lowerBound + count)
            }
        }
    }

    @Test func `a worker without pieces takes the last half of another's, in order`() {
        let runs = runsBesideSlowWorker { pool, pieces, body in
            pool.forEach(pieces) { piece, worker in body(piece..<piece + 1, worker) }
        }
        #expect(runs.slow == [8..<9])
        let order = [0..<8, 12..<16, 10..<12, 9..<10].flatMap { Array($0) }
        #expect(runs.fast == order.map { $0..<$0 + 1 })
    }

    @Test func `a run is half of the pieces that the worker has left`() {
        let runs = runsBesideSlowWorker { pool, pieces, body in pool.forEachRun(pieces, body) }
        #expect(runs.slow == [8..<12])
        #expect(
            runs.fast == [0..<4, 4..<6, 6..<7, 7..<8, 14..<15, 15..<16, 13..<14, 12..<13])
    }

    /// What two workers do of 16 pieces if one of them begins, and goes on when all other pieces are done.
    private func runsBesideSlowWorker(
        _ region: (ThreadPool, Int, (Range<Int>, Int) -> Void) -> Void
    ) -> (fast: [Range<Int>], slow: [Range<Int>]) {
        let pool = ThreadPool(count: 2)
        defer { pool.stop() }
        let (done, begun) = ((0..<2).map { _ in List() }, Box())
        region(pool, 16) { run, worker in
            done[worker].append(run)
            if worker == 1 { begun.add() }
            while begun.value == 0 || worker == 1 && done.reduce(0, { $0 + $1.count }) < 16 {}
        }
        return (done[0].runs, done[1].runs)
    }

    private final class List: Sendable {
        private let list = Mutex<[Range<Int>]>([])
        var runs: [Range<Int>] { list.withLock { $0 } }
        /// Number of pieces.
        var count: Int { runs.reduce(0) { $0 + $1.count } }
        func append(_ run: Range<Int>) { list.withLock { $0.append(run) } }
    }

    private final class Box: Sendable {
        private let count = Atomic<Int>(0)
        var value: Int { count.load(ordering: .sequentiallyConsistent) }
        @discardableResult func add() -> Int { count.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue }
        func subtract() { count.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
    }
}
