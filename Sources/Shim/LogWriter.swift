import CommandLineParsing
import Dispatch
import Synchronization

/// Writes lines from a thread of its own, since whoever reads them may be slow, stuck or gone. None of that holds up or ends
/// the server: what waits is bounded, and lines beyond that are lost.
final class LogWriter: Sendable {
    static let standardOutput = LogWriter(StandardStream.output.rawValue)
    static let standardError = LogWriter(StandardStream.error.rawValue)

    /// Bytes that may wait to be written.
    private static let capacity = 1 << 20

    private let descriptor: Int32
    private let queue: DispatchQueue
    private let waiting = Mutex(0)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        queue = DispatchQueue(label: "log of descriptor \(descriptor)")
    }

    /// - Returns: Whether there was room for it.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        let hasRoom = waiting.withLock { waiting in
            guard waiting == 0 || waiting + bytes.count <= Self.capacity else { return false }
            waiting += bytes.count
            return true
        }
        guard hasRoom else { return false }
        queue.async { @Sendable [self] in
            // Nobody can be told that the log cannot be written.
            writeAll(bytes, to: descriptor)
            waiting.withLock { $0 -= bytes.count }
        }
        return true
    }

    /// Returns when every line was written, or when the patience is over with a reader that is stuck.
    func flush(patience: DispatchTimeInterval = .seconds(1)) {
        let group = DispatchGroup()
        queue.async(group: group) { @Sendable in }
        _ = group.wait(timeout: .now() + patience)
    }
}
