import Foundation
import KernelsPortable

#if arch(x86_64)
    import KernelsAVX2
#endif

/// What this machine could do at best: the speeds that ours are compared with. No model is involved.
package struct MachineMeasurement: Sendable, Equatable {
    package let threads: Int
    /// Bytes read from memory in a second.
    package let readBandwidth: Double
    /// Operations, multiplications and additions apart, in a second: of floats, and of 16-bit and 8-bit integers.
    package let floatPeak: Double
    package let wordPeak: Double
    package let bytePeak: Double

    package init(threads: Int, readBandwidth: Double, floatPeak: Double, wordPeak: Double, bytePeak: Double) {
        self.threads = threads
        self.readBandwidth = readBandwidth
        self.floatPeak = floatPeak
        self.wordPeak = wordPeak
        self.bytePeak = bytePeak
    }
}

/// Measures a machine; holds on to the memory that it reads.
///
/// Every number is the best of several short runs: other programs only ever make a machine look slower.
package final class MachineMeter {
    package let memoryBytes: Int
    /// Whether the memory was asked for in pages of 2 MiB, and may have them.
    package let mayUseHugePages: Bool
    private let memory: UnsafeMutableRawPointer

    /// One a physical core that this process may use.
    package static var usableThreads: Int { ProcessorCount.usable() }

    /// - Parameter memoryBytes: At least a few MiB; without it, eight times the largest cache and at least 512 MiB, but a
    ///   quarter of what is free at most.
    /// - Throws: `LocalModelError.invalidOption` if there is no such memory.
    package init(memoryBytes: Int? = nil) throws(LocalModelError) {
        let wanted = memoryBytes ?? min(max(512 << 20, 8 * ProcessorCache.largest()), SystemMemory.available() / 4)
        let bytes = max(1, wanted / Self.pieceBytes) * Self.pieceBytes
        guard let memory = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            memory != MAP_FAILED
        else { throw .invalidOption("memory: the system does not give \(bytes) bytes") }
        mayUseHugePages = madvise(memory, bytes, MADV_HUGEPAGE) == 0
        memset(memory, 1, bytes)  // untouched pages would all be the one page of zeros
        self.memory = memory
        self.memoryBytes = bytes
    }

    deinit { munmap(memory, memoryBytes) }

    package func measure(threads: Int, tier: KernelTier? = nil) -> MachineMeasurement {
        let pool = ThreadPool(count: threads)
        defer { pool.stop() }
        let peaks = Peaks(tier ?? KernelSet.best.tier)
        return MachineMeasurement(
            threads: pool.count, readBandwidth: readBandwidth(pool),
            floatPeak: best(of: 5) { Self.speed(pool, peaks.floatOperations, peaks.floats) },
            wordPeak: best(of: 5) { Self.speed(pool, peaks.wordOperations, peaks.words) },
            bytePeak: best(of: 5) { Self.speed(pool, peaks.byteOperations, peaks.bytes) })
    }

    private static let pieceBytes = 1 << 20
    /// Some 20 ms of a round's loop.
    private static let rounds = 4_000_000
    /// The same number of rounds for each thread, in parts small enough that a slow core can leave some to the others.
    private static let parts = 16

    private func best(of count: Int, _ measure: () -> Double) -> Double {
        (0..<count).map { _ in measure() }.max() ?? 0
    }

    private func readBandwidth(_ pool: ThreadPool) -> Double {
        let sums = UnsafeMutablePointer<UInt64>.allocate(capacity: pool.count * 8)
        defer { sums.deallocate() }
        sums.initialize(repeating: 0, count: pool.count * 8)
        return best(of: 8) {
            let seconds = Self.seconds {
                pool.forEach(memoryBytes / Self.pieceBytes) { piece, worker in
                    sums[8 * worker] &+= readAll(memory + piece * Self.pieceBytes, bytes: Self.pieceBytes)
                }
            }
            return Double(memoryBytes) / seconds
        }
    }

    private static func speed(_ pool: ThreadPool, _ operationsOfRound: Int, _ loop: @Sendable (Int) -> Void) -> Double {
        let pieces = parts * pool.count
        let seconds = seconds { pool.forEach(pieces) { _, _ in loop(rounds / parts) } }
        return Double(pieces * (rounds / parts)) * Double(operationsOfRound) / seconds
    }

    private static func seconds(_ body: () -> Void) -> Double {
        let clock = ContinuousClock()
        return max(1e-9, clock.measure(body) / .seconds(1))
    }
}

private enum ProcessorCache {
    /// Bytes, as the kernel says; 0 where it does not. (`sysconf` gives the sum of all a package's on AMD.)
    static func largest() -> Int {
        let sizes = (0..<6).compactMap { index -> Int? in
            let path = "/sys/devices/system/cpu/cpu0/cache/index\(index)/size"
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
            let digits = text.prefix { $0.isNumber }
            let unit = text.dropFirst(digits.count).first == "M" ? 1 << 20 : 1 << 10
            return Int(digits).map { $0 * unit }
        }
        return sizes.max() ?? 0
    }
}

/// The loops of a tier.
private struct Peaks {
    var floatOperations = KernelsPortable.floatOperationsOfRound
    var wordOperations = KernelsPortable.wordOperationsOfRound
    var byteOperations = KernelsPortable.byteOperationsOfRound
    var floats: @Sendable (Int) -> Void = { _ = KernelsPortable.multiplyAddFloats(rounds: $0, 0.5) }
    var words: @Sendable (Int) -> Void = { _ = KernelsPortable.multiplyAddWords(rounds: $0, 3) }
    var bytes: @Sendable (Int) -> Void = { _ = KernelsPortable.multiplyAddBytes(rounds: $0, 3) }

    init(_ tier: KernelTier) {
        #if arch(x86_64)
            guard tier != .portable else { return }
            floatOperations = KernelsAVX2.floatOperationsOfRound
            wordOperations = KernelsAVX2.wordOperationsOfRound
            byteOperations = KernelsAVX2.byteOperationsOfRound
            floats = { _ = KernelsAVX2.multiplyAddFloats(rounds: $0, 0.5) }
            words = { _ = KernelsAVX2.multiplyAddWords(rounds: $0, 3) }
            bytes = { _ = KernelsAVX2.multiplyAddBytes(rounds: $0, 3) }
        #endif
    }
}
