import CIntrinsics
import Platform
import Synchronization

/// The threads that compute a step. The calling thread is worker 0.
///
/// A step has some hundreds of parallel regions of 5 to 500 µs each, so workers spin briefly for the next one before
/// they sleep. A region is divided into small items, and the end of a region does not wait for workers that have not
/// begun: a core that is slow, or busy with another process, takes fewer items or none and does not delay the others.
///
/// `@unchecked Sendable`: the caller writes `body` only while the region is closed and no worker is inside; the
/// releasing store that opens the region publishes it.
package final class ThreadPool: @unchecked Sendable {
    /// Number of workers, the caller included.
    package let count: Int

    private var threads: [pthread_t] = []
    private var body: ((_ run: Range<Int>, _ worker: Int) -> Void)?
    /// Whether `body` is called with several items at a time.
    private var takesRuns = false
    private let region = Atomic<Int>(0)
    /// The items of the region that nobody has begun, a range for each worker.
    private let shares: UnsafeMutablePointer<Share>
    private let sleepers = Atomic<Int>(0)
    private let stopping = Atomic<Bool>(false)
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let wake = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    /// `region` is the region's number times `step`, plus `open` while it is open, plus the number of workers inside.
    private static let step = 1 << 16
    private static let open = 1 << 15

    /// Polls before a worker sleeps. A `pause` takes about 40 cycles, so this is about 50 µs: longer than the serial
    /// parts between two regions of a decode step, shorter than a scheduler's time slice.
    private static let spins = 4_000

    package init(count: Int) {
        self.count = max(1, count)
        shares = .allocate(capacity: self.count)
        for worker in 0..<self.count { (shares + worker).initialize(to: Share()) }
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(wake, nil)
        for index in 1..<self.count { threads.append(Self.start(Worker(pool: self, index: index))) }
    }

    deinit {
        pthread_cond_destroy(wake)
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
        wake.deallocate()
        shares.deinitialize(count: count)
        shares.deallocate()
    }

    /// Ends the workers, which otherwise keep the pool alive. Later regions run on the caller's thread alone.
    package func stop() {
        stopping.store(true, ordering: .sequentiallyConsistent)
        wakeSleepers()
        for thread in threads { pthread_join(thread, nil) }
        threads = []
    }

    /// Calls `body(item, worker)` for each item in `0..<items`, and returns when all are done.
    ///
    /// Each worker has consecutive items, which it does in order: a product reads its weights faster that way. A worker
    /// that has none left takes the last half of another's, and does them in order as well.
    package func forEach(_ items: Int, _ body: (_ item: Int, _ worker: Int) -> Void) {
        guard items > 1, !threads.isEmpty else {
            for item in 0..<max(0, items) { body(item, 0) }
            return
        }
        runRegion(items, takesRuns: false) { run, worker in body(run.lowerBound, worker) }
    }

    /// The same with a call for several consecutive items: half of those that the worker has left, at least one. So calls
    /// are few, but the last ones are short, and workers end at about the same time.
    func forEachRun(_ items: Int, _ body: (_ run: Range<Int>, _ worker: Int) -> Void) {
        guard items > 1, !threads.isEmpty else {
            if items > 0 { body(0..<items, 0) }
            return
        }
        runRegion(items, takesRuns: true, body)
    }

    private func runRegion(_ items: Int, takesRuns: Bool, _ body: (_ run: Range<Int>, _ worker: Int) -> Void) {
        withoutActuallyEscaping(body) { escapable in
            self.body = escapable
            self.takesRuns = takesRuns
            for worker in 0..<count {
                shares[worker].set(items * worker / count..<items * (worker + 1) / count)
            }
            let opened = region.load(ordering: .relaxed) + Self.step + Self.open
            region.store(opened, ordering: .sequentiallyConsistent)
            if sleepers.load(ordering: .sequentiallyConsistent) > 0 { wakeSleepers() }
            takePieces(worker: 0)
            // No worker enters from here on; wait until those inside have finished their items.
            region.wrappingSubtract(Self.open, ordering: .acquiringAndReleasing)
            var polls = 0
            while region.load(ordering: .acquiring) & (Self.step - 1) != 0 {
                polls += 1
                if polls % Self.spins == 0 { sched_yield() } else { cpu_pause() }
            }
            self.body = nil
        }
    }

    /// Not inlined, so that the reference to `body` is released before the worker leaves the region.
    @inline(never)
    private func takePieces(worker: Int) {
        guard let body else { return }
        func takeOwn() {
            while let run = takesRuns ? shares[worker].takeFirstHalf() : shares[worker].takeFirst() {
                body(run, worker)
            }
        }
        takeOwn()
        for offset in 1..<count {
            while let items = shares[(worker + offset) % count].takeLastHalf() {
                // This worker's share is empty, so that no other worker changes it meanwhile.
                shares[worker].set(items)
                takeOwn()
            }
        }
    }

    /// A range of items that several workers take from.
    private struct Share: ~Copyable {
        /// The range's start, and from bit 32 on its end.
        private let range = Atomic<UInt64>(0)
        /// Fills two cache lines, which processors fetch together.
        private let padding:
            (
                UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64,
                UInt64,
                UInt64
            ) = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

        func set(_ items: Range<Int>) {
            range.store(Self.word(items), ordering: .relaxed)
        }

        func takeFirst() -> Range<Int>? { take { ($0..<$0 + 1, $0 + 1..<$1) } }
        func takeFirstHalf() -> Range<Int>? {
            take { start, end in
                let middle = end - (end - start) / 2
                return (start..<middle, middle..<end)
            }
        }
        func takeLastHalf() -> Range<Int>? {
            take { start, end in
                let middle = start + (end - start) / 2
                return (middle..<end, start..<middle)
            }
        }

        /// - Parameter choose: Some items of the range from its first argument up to its second, and the others.
        private func take(_ choose: (Int, Int) -> (taken: Range<Int>, rest: Range<Int>)) -> Range<Int>? {
            var found = range.load(ordering: .relaxed)
            while true {
                let (start, end) = (Int(found & 0xffff_ffff), Int(found >> 32))
                guard start < end else { return nil }
                let (taken, rest) = choose(start, end)
                let (exchanged, original) = range.weakCompareExchange(
                    expected: found, desired: Self.word(rest), ordering: .relaxed)
                if exchanged { return taken }
                found = original
            }
        }

        private static func word(_ items: Range<Int>) -> UInt64 {
            UInt64(items.upperBound) << 32 | UInt64(items.lowerBound)
        }
    }

    private func work(_ index: Int) {
        var seen = 0
        while !stopping.load(ordering: .acquiring) {
            let state = region.load(ordering: .acquiring)
            if state / Self.step == seen {
                waitForRegion(after: seen)
            } else if state & Self.open == 0 {
                seen = state / Self.step  // the region closed before this worker entered
            } else if region.weakCompareExchange(
                expected: state, desired: state + 1, ordering: .acquiringAndReleasing
            ).exchanged {
                takePieces(worker: index)
                seen = state / Self.step
                region.wrappingSubtract(1, ordering: .acquiringAndReleasing)
            }
        }
    }

    private func waitForRegion(after seen: Int) {
        for _ in 0..<Self.spins {
            if region.load(ordering: .acquiring) / Self.step != seen { return }
            cpu_pause()
        }
        // Register as a sleeper before checking again: `forEach` opens the region before it looks for sleepers, so one
        // of the two sees the other.
        pthread_mutex_lock(mutex)
        sleepers.wrappingAdd(1, ordering: .sequentiallyConsistent)
        while region.load(ordering: .sequentiallyConsistent) / Self.step == seen,
            !stopping.load(ordering: .sequentiallyConsistent)
        {
            pthread_cond_wait(wake, mutex)
        }
        sleepers.wrappingSubtract(1, ordering: .sequentiallyConsistent)
        pthread_mutex_unlock(mutex)
    }

    private func wakeSleepers() {
        pthread_mutex_lock(mutex)
        pthread_cond_broadcast(wake)
        pthread_mutex_unlock(mutex)
    }

    private final class Worker {
        let pool: ThreadPool
        let index: Int
        init(pool: ThreadPool, index: Int) {
            self.pool = pool
            self.index = index
        }
    }

    private static func start(_ worker: Worker) -> pthread_t {
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { argument in
                let worker = Unmanaged<Worker>.fromOpaque(argument!).takeRetainedValue()
                worker.pool.work(worker.index)
                return nil
            }, Unmanaged.passRetained(worker).toOpaque())
        precondition(status == 0, "pthread_create failed: \(status)")
        return thread
    }
}
