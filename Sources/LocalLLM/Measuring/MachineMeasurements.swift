import Foundation
import KernelsPortable
import Platform
import Tiers

/// Peak speeds of this machine, to compare the engine's with. No model is involved.
package struct MachineMeasurement: Sendable, Equatable {
    package let threads: Int
    /// Bytes read from memory per second.
    package let readBandwidth: Double
    /// Operations (multiplications, additions) per second on floats, and on 16-bit and 8-bit integers.
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

/// Measures the machine; keeps the memory that it reads allocated.
///
/// Every number is the best of several short runs, since other programs can only slow the machine down.
package final class MachineMeter {
    package let memoryBytes: Int
    /// Whether the memory was requested in pages of 2 MiB, and the system allows them.
    package let mayUseHugePages: Bool
    private let memory: UnsafeMutableRawPointer

    /// One thread per physical core that this process may use.
    package static var usableThreads: Int { ProcessorCount.usable() }

    /// - Parameter memoryBytes: Memory to read, at least a few MiB; default: eight times the largest cache and at least
    ///   512 MiB, but at most a quarter of the free memory.
    /// - Throws: `LocalModelError.invalidOption` if the memory cannot be allocated.
    package init(memoryBytes: Int? = nil) throws(LocalModelError) {
        let wanted = memoryBytes ?? min(max(512 << 20, 8 * ProcessorInfo.largestCache()), SystemMemory.available() / 4)
        let bytes = max(1, wanted / Self.pieceBytes) * Self.pieceBytes
        guard let memory = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            memory != MAP_FAILED
        else { throw .invalidOption("memory: the system does not give \(bytes) bytes") }
        mayUseHugePages = preferHugePages(memory, bytes: bytes)
        memset(memory, 1, bytes)  // untouched pages would all map to the zero page
        self.memory = memory
        self.memoryBytes = bytes
    }

    deinit { munmap(memory, memoryBytes) }

    package func measure(threads: Int, tier: KernelTier? = nil) -> MachineMeasurement {
        let pool = ThreadPool(count: threads)
        defer { pool.stop() }
        let peaks = (KernelSet.available.first { $0.tier == tier } ?? .best).peaks
        return MachineMeasurement(
            threads: pool.count, readBandwidth: readBandwidth(pool, peaks.read),
            floatPeak: best(of: 5) { Self.speed(pool, peaks.operations.floats, peaks.floats) },
            wordPeak: best(of: 5) { Self.speed(pool, peaks.operations.words, peaks.words) },
            bytePeak: best(of: 5) { Self.speed(pool, peaks.operations.bytes, peaks.bytes) })
    }

    private static let pieceBytes = 1 << 20
    /// Iterations of the loop per run: about 20 ms.
    private static let rounds = 4_000_000
    /// Parts per thread, small enough that faster cores can take over those of a slow core.
    private static let parts = 16

    private func best(of count: Int, _ measure: () -> Double) -> Double {
        (0..<count).map { _ in measure() }.max() ?? 0
    }

    private func readBandwidth(
        _ pool: ThreadPool, _ read: @Sendable (_ memory: UnsafeRawPointer, _ bytes: Int) -> UInt64
    ) -> Double {
        let sums = UnsafeMutablePointer<UInt64>.allocate(capacity: pool.count * 8)
        defer { sums.deallocate() }
        sums.initialize(repeating: 0, count: pool.count * 8)
        return best(of: 8) {
            let seconds = Self.seconds {
                pool.forEach(memoryBytes / Self.pieceBytes) { piece, worker in
                    sums[8 * worker] &+= read(memory + piece * Self.pieceBytes, Self.pieceBytes)
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

extension ProfiledPart {
    /// Seconds that this machine takes at least: to read the bytes, or to do the operations. 0: neither was counted.
    package func leastSeconds(on machine: MachineMeasurement) -> (reading: Double, computing: Double) {
        (bytes / machine.readBandwidth, floatOperations / machine.floatPeak + byteOperations / machine.bytePeak)
    }
}
