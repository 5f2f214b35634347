import Foundation
import LocalLLM

/// The runs of `bench speed` at a terminal of this machine, so that the next one has something to be compared with.
struct SpeedHistory {
    /// A run per line, oldest first, as a JSON array of results.
    let file: URL
    /// Older runs are dropped.
    private static let mostRuns = 200

    init(file: URL) { self.file = file }

    init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.init(file: DataFolder.url(environment).appendingPathComponent("bench-speed.jsonl"))
    }

    private var lines: [Data] {
        (try? Data(contentsOf: file))?.split(separator: UInt8(ascii: "\n")).map { Data($0) } ?? []
    }

    /// Runs that can be read, oldest first.
    var runs: [[CompareCommand.Result]] {
        lines.compactMap { try? CompareCommand.results(in: $0, of: file.path) }.filter { !$0.isEmpty }
    }

    func add(_ results: [SpeedResult]) throws {
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let kept = lines.suffix(Self.mostRuns - 1) + [try encodeJSON(results)]
        try Data((kept.map { $0 + [UInt8(ascii: "\n")] }).joined()).write(to: file, options: .atomic)
    }

    /// The last run, and the one before it that has tests of the same models.
    ///
    /// - Parameter other: Results to compare the last run with instead of an earlier one.
    /// - Throws: `BenchError` if there are none.
    func lastTwo(comparing other: [CompareCommand.Result]? = nil) throws -> (
        [CompareCommand.Result], [CompareCommand.Result]
    ) {
        let runs = runs
        guard let last = runs.last else {
            throw BenchError("there are no earlier runs in \(file.path): `bench speed` at a terminal adds one")
        }
        if let other { return (other, last) }
        let earlier = runs.dropLast().last { run in
            Set(run.map(\.file)) == Set(last.map(\.file)) && !CompareCommand.pair(run, last).isEmpty
        }
        guard let earlier else {
            let models = Set(last.map(\.file)).sorted().joined(separator: ", ")
            throw BenchError("no run before the last one in \(file.path) has the same tests of \(models)")
        }
        return (earlier, last)
    }
}
