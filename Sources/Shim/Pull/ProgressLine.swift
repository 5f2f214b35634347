import CommandLineParsing
import Foundation

/// Tells the progress of a download, at most five times per second: as one line, which replaces the last one in a terminal,
/// and in bytes.
final class ProgressLine {
    private let name: String
    private let clock = ContinuousClock()
    private let started: ContinuousClock.Instant
    private var first: Int?
    private var shown: ContinuousClock.Instant?
    private let observer: PullObserver

    init(_ name: String, _ observer: PullObserver) {
        self.name = name
        self.observer = observer
        started = clock.now
    }

    func report(_ count: Int, of total: Int?) {
        let now = clock.now
        let first = first ?? count
        self.first = first
        guard count == total || shown.map({ now - $0 > .milliseconds(200) }) ?? true else { return }
        shown = now
        observer.progress(name, count, total)
        observer.show?(Self.text(name, count, of: total, new: count - first, in: (now - started) / .seconds(1)))
    }

    /// - Parameter new: Bytes received in `seconds`; the rest is from earlier attempts.
    static func text(_ name: String, _ count: Int, of total: Int?, new: Int, in seconds: Double) -> String {
        let rate = seconds > 0 ? Double(new) / seconds : 0
        var parts = [name]
        if let total, total > 0 { parts.append("\(count * 100 / total) %") }
        parts.append(total.map { "\(size(count)) of \(size($0))" } ?? size(count))
        if rate >= 1 {
            parts.append("\(size(Int(rate)))/s")
            if let total {
                parts.append(time(Int(min(Double(total - count) / rate, 360_000))) + " left")
            }
        }
        return parts.joined(separator: "  ")
    }

    /// `0:07`, `1:02:03`.
    private static func time(_ seconds: Int) -> String {
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
        return hours > 0
            ? String(format: "%d:%02d:%02d", hours, minutes, seconds % 60)
            : String(format: "%d:%02d", minutes, seconds % 60)
    }
}
