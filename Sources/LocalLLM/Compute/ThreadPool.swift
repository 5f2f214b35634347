import Glibc
import Synchronization

/// The threads that share a step's arithmetic. The calling thread is worker 0.
///
/// A step is some hundreds of parallel regions of 5 to 500 µs each, so workers spin briefly for the next one before they
/// sleep. Regions hand out their work in small pieces (`forEach`), so that a core that is slow, or shared with
/// another process, takes fewer of them and does not hold up the rest.
///
/// `@unchecked Sendable`: `job` is written by the caller only while every worker is idle (`pending == 0`), and
/// published by the release store to `generation`.
final class ThreadPool: @unchecked Sendable {
    /// Workers, the caller included.
    let count: Int

    private var threads: [pthread_t] = []
    private var job: ((Int) -> Void)?
    private let generation = Atomic<Int>(0)
    private let pending = Atomic<Int>(0)
    private let nextPiece = Atomic<Int>(0)
    private let sleepers = Atomic<Int>(0)
    private let stopping = Atomic<Bool>(false)
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let wake = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    /// Polls before a worker sleeps. A `pause` is about 40 cycles here, so this is some 50 µs: longer than the serial
    /// parts between two regions of a decode step, shorter than a scheduler's time slice.
    private static let spins = 4_000

    init(count: Int) {
        self.count = max(1, count)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(wake, nil)
        for index in 1..<max(1, self.count) { threads.append(Self.start(Worker(pool: self, index: index))) }
    }

    deinit {
        mutex.deallocate()
        wake.deallocate()
    }

    /// Ends the workers. The pool must not be used afterwards.
    ///
    /// Workers hold the pool, so it lives until this is called.
    func stop() {
        stopping.store(true, ordering: .releasing)
        announce()
        for thread in threads { pthread_join(thread, nil) }
        threads = []
        pthread_cond_destroy(wake)
        pthread_mutex_destroy(mutex)
    }

    /// Calls `body` once on each worker, with its index, and returns when all are done.
    func run(_ body: (Int) -> Void) {
        guard count > 1 else { return body(0) }
        withoutActuallyEscaping(body) { escapable in
            job = escapable
            pending.store(count - 1, ordering: .relaxed)
            announce()
            escapable(0)
            var polls = 0
            while pending.load(ordering: .acquiring) > 0 {
                polls += 1
                if polls % Self.spins == 0 { sched_yield() } else { cpuPause() }
            }
            job = nil
        }
    }

    /// Calls `body(piece, worker)` for each piece in `0..<pieces`, each worker taking the next one as it gets free.
    func forEach(_ pieces: Int, _ body: (_ piece: Int, _ worker: Int) -> Void) {
        guard count > 1, pieces > 1 else {
            for piece in 0..<max(0, pieces) { body(piece, 0) }
            return
        }
        nextPiece.store(0, ordering: .relaxed)
        run { worker in
            while true {
                let piece = nextPiece.wrappingAdd(1, ordering: .relaxed).oldValue
                if piece >= pieces { return }
                body(piece, worker)
            }
        }
    }

    private func announce() {
        generation.wrappingAdd(1, ordering: .sequentiallyConsistent)
        guard sleepers.load(ordering: .sequentiallyConsistent) > 0 else { return }
        pthread_mutex_lock(mutex)
        pthread_cond_broadcast(wake)
        pthread_mutex_unlock(mutex)
    }

    private func work(_ index: Int) {
        var seen = 0
        while true {
            waitForChange(from: seen)
            seen += 1
            if stopping.load(ordering: .acquiring) { return }
            runJob(index)
            pending.wrappingSubtract(1, ordering: .acquiringAndReleasing)
        }
    }

    /// A function of its own so that the reference to `job` is given back before `pending` says so.
    @inline(never)
    private func runJob(_ index: Int) { job?(index) }

    private func waitForChange(from seen: Int) {
        for _ in 0..<Self.spins {
            if generation.load(ordering: .acquiring) != seen { return }
            cpuPause()
        }
        // Announced first as a sleeper, then checked again: `announce` changes the generation before it looks for
        // sleepers, so one of the two sees the other.
        pthread_mutex_lock(mutex)
        sleepers.wrappingAdd(1, ordering: .sequentiallyConsistent)
        while generation.load(ordering: .sequentiallyConsistent) == seen { pthread_cond_wait(wake, mutex) }
        sleepers.wrappingSubtract(1, ordering: .sequentiallyConsistent)
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
