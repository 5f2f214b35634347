import CommandLineParsing
import Foundation
import LocalLLM

/// How fast a model reads prompts and writes answers on this machine, in llama-bench's terms.
struct SpeedCommand: Command {
    static let name = "speed"
    static let summary = "tokens per second of prompts and answers, load time, memory"
    static let synopsis = "-m FILE [-p N,…] [-n N,…] [-d N,…] [-t N,…] [-r N] [-o md|json]"
    static let details = """
        Each number of -p is a test that processes a prompt of so many tokens, each of -n one that generates so many,
        at each depth of -d and with each number of threads of -t. A test runs once untimed, then -r times. Tokenizing
        and sampling are not in it. The fields of -o json have llama-bench's names; of our own there are kernels,
        load_s, first_token_s (mean time to the first token) and peak_rss_bytes (of the process, so far).
        """
    static let options: [Option] = [
        .model,
        Option("-p", "--n-prompt", value: "N,…", help: "tokens of the prompt; 0 leaves the test out (default: 512)"),
        Option("-n", "--n-gen", value: "N,…", help: "tokens to generate; 0 leaves the test out (default: 128)"),
        Option("-d", "--n-depth", value: "N,…", help: "tokens in the context before (default: 0)"),
        Option("-t", "--threads", value: "N,…", help: "threads (default: one a physical core)"),
        Option("-r", "--repetitions", value: "N", help: "timed runs of each test (default: 5)"),
        Option("-o", "--output", value: "md|json", help: "a table or JSON (default: md)"),
    ]

    enum Format: String { case md, json }

    /// What one row of the result measures.
    struct Test: Equatable {
        var prompt = 0
        var generate = 0
        var depth = 0

        /// As llama-bench writes it: `pp512`, `tg128 @ d4096`.
        var name: String {
            (prompt > 0 ? "pp\(prompt)" : "tg\(generate)") + (depth > 0 ? " @ d\(depth)" : "")
        }
    }

    let model: String
    let tests: [Test]
    /// `nil` is the library's choice.
    let threads: [Int?]
    let repetitions: Int
    let format: Format

    init(_ arguments: Arguments) throws(UsageError) {
        // What no machine's memory holds is a slip of the finger.
        let counts = 0...10_000_000
        model = try arguments.required("--model")
        let prompts = try arguments.ints("--n-prompt", in: counts) ?? [512]
        let generations = try arguments.ints("--n-gen", in: counts) ?? [128]
        let depths = try arguments.ints("--n-depth", in: counts) ?? [0]
        tests = depths.flatMap { depth in
            prompts.filter { $0 > 0 }.map { Test(prompt: $0, depth: depth) }
                + generations.filter { $0 > 0 }.map { Test(generate: $0, depth: depth) }
        }
        guard !tests.isEmpty else { throw UsageError("-p and -n are both 0: nothing to measure") }
        threads = try arguments.ints("--threads", in: 1...1024) ?? [nil]
        repetitions = try arguments.int("--repetitions", in: 1...1_000_000) ?? 5
        let name = arguments.string("--output") ?? "md"
        guard let format = Format(rawValue: name) else {
            throw UsageError("--output: expected md or json, found '\(name)'")
        }
        self.format = format
    }

    func run() async throws -> Bool {
        var results: [SpeedResult] = []
        for threads in threads { results += try await measure(threads: threads) }
        switch format {
        case .json: try printJSON(results, pretty: true)
        case .md: print(SpeedTable.render(results))
        }
        return true
    }

    private func measure(threads: Int?) async throws -> [SpeedResult] {
        let clock = ContinuousClock()
        let started = clock.now
        // As long as the tests need, whatever the model was trained for: speed does not depend on that.
        let contextSize = tests.map { $0.depth + $0.prompt + $0.generate }.max()
        let model = try await LanguageModel.load(
            from: URL(fileURLWithPath: model), configuration: .init(contextSize: contextSize, threads: threads))
        let loadSeconds = (clock.now - started) / .seconds(1)
        var results: [SpeedResult] = []
        for test in tests {
            let begun = Date()
            showProgress("\(test.name), \(model.threads) threads: warm-up")
            _ = try await model.measure(prompt: test.prompt, generate: test.generate)
            var samples: [LanguageModel.Measurement] = []
            for repetition in 1...repetitions {
                showProgress("\(test.name), \(model.threads) threads: \(repetition) of \(repetitions)")
                samples.append(
                    try await model.measure(prompt: test.prompt, generate: test.generate, depth: test.depth))
            }
            showProgress("")
            results.append(
                SpeedResult(test, samples, of: model, at: self.model, loadSeconds: loadSeconds, begun: begun))
        }
        return results
    }

    /// One line that the next one overwrites, for who waits at a terminal.
    private func showProgress(_ text: String) {
        guard isatty(STDERR_FILENO) == 1 else { return }
        FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8))
    }
}
