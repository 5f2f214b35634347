import CommandLineParsing
import Dispatch
import Synchronization

/// Writes lines on its own thread, so that a slow, stuck or closed reader never blocks or ends the server. Pending
/// bytes are bounded; further lines are dropped.
final class LogWriter: Sendable {
    static let standardOutput = LogWriter(StandardStream.output.rawValue)
    static let standardError = LogWriter(StandardStream.error.rawValue)

    /// Maximum pending bytes.
    private static let capacity = 1 << 20

    private let descriptor: Int32
    private let queue: DispatchQueue
    private let waiting = Mutex(0)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        queue = DispatchQueue(label: "log of descriptor \(descriptor)")
    }

    /// - Returns: Whether the line was accepted; `false`: dropped.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        let hasRoom = waiting.withLock { waiting in
            guard waiting == 0 || waiting + bytes.count <= Self.capacity else { return false }
            waiting += bytes.count
            return true
        }
        guard hasRoom else { return false }
        queue.async { @Sendable [self] in
            // A failure cannot be reported anywhere.
            writeAll(bytes, to: descriptor)
            waiting.withLock { $0 -= bytes.count }
        }
        return true
    }

    /// Returns when every line is written, or after `patience`.
    func flush(patience: DispatchTimeInterval = .seconds(1)) {
        let group = DispatchGroup()
        queue.async(group: group) { @Sendable in }
        _ = group.wait(timeout: .now() + patience)
    }
}
