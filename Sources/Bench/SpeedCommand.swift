import CommandLineParsing
import Foundation
import LocalLLM

/// Measures prefill and decode speed on this machine, in llama-bench's terms.
struct SpeedCommand: Command {
    static let name = "speed"
    static let summary = "measure prefill and decoding speed, load time, memory"
    static let synopsis = "-m FILE [-p N,…] [-n N,…] [-d N,…] [-b N,…] [-t N,…] [-r N] [-o md|json|jsonl|csv|sql]"
    static let details = """
        Runs a test per combination of the listed values: prefill of -p tokens or decoding of -n tokens, at depth -d, with -b
        sequences and -t threads. A test runs once untimed, then -r times. Tokenizing and sampling are not included. With
        -b, a step computes a token of each sequence; tokens per second count all sequences. With --draft, tests of -n
        generate greedy answers with drafts, sampling included.

        Fields of json, jsonl, csv and sql have llama-bench's names. Additional fields are kernels, n_seq, load_s,
        first_token_s (mean time to the first token of every sequence), peak_rss_bytes (of the process so far), and the
        results of "bench machine" with the same threads after the tests: machine_read_bps, machine_float_ops,
        machine_int8_ops. read_fraction is the share of that bandwidth used for weights, keys and values in decoding;
        float_fraction and int8_fraction are the shares of the peaks used for matrix products in prefill, without
        attention, as if all layers computed all tokens (most of the last layer is computed for the last token only).
        The table's column "of machine" has them in percent.

        Runs at a terminal are kept for "bench compare". --report draws curves by prompt, depth and sequences.
        """
    static let options: [Option] = [
        .model,
        Option("-p", "--n-prompt", value: "N,…", help: "prompt tokens; 0 skips the test (default: 512)"),
        Option("-n", "--n-gen", value: "N,…", help: "tokens to generate; 0 skips the test (default: 128)"),
        Option("-d", "--n-depth", value: "N,…", help: "tokens already in the context (default: 0)"),
        Option("-b", "--n-seq", value: "N,…", help: "sequences in parallel (default: 1)"),
        Option("-t", "--threads", value: "N,…", help: "threads (default: one per physical core)"),
        Option("-r", "--repetitions", value: "N", help: "timed runs of each test (default: 5)"),
        Option("--matmul", value: "blas|native", help: "blas: --tier portable; native: the fastest tier"),
        Option("-o", "--output", value: "FORMAT", help: "md, json, jsonl, csv or sql (default: md)"),
        Report.option,
    ]
    static let modelOptions: [ModelOption] =
        [.draft, .adapters, .cacheType] + ModelOption.loading.filter { $0.key != ModelOption.threads.key }

    enum Format: String, CaseIterable { case md, json, jsonl, csv, sql }
    private enum Product: String, CaseIterable { case blas, native }

    /// The parameters of one row of the result.
    struct Test: Hashable {
        var prompt = 0
        var generate = 0
        var depth = 0
        /// Concurrent sequences.
        var batch = 1

        /// Name as in llama-bench: `pp512`, `tg128 @ d4096`; with several sequences: `tg128 x8`.
        var name: String {
            (prompt > 0 ? "pp\(prompt)" : "") + (prompt > 0 && generate > 0 ? "+" : "")
                + (generate > 0 ? "tg\(generate)" : "") + (batch > 1 ? " x\(batch)" : "")
                + (depth > 0 ? " @ d\(depth)" : "")
        }
    }

    let model: String
    let tests: [Test]
    /// Thread counts; `nil`: the library's default.
    let threads: [Int?]
    /// Without threads and context, which the tests set.
    let configuration: LocalModel.Configuration
    let repetitions: Int
    let format: Format
    let reportFile: String?

    init(_ arguments: Arguments) throws(UsageError) {
        // Larger values exceed any memory and are likely typing errors.
        let counts = 0...10_000_000
        model = try arguments.model
        let prompts = try arguments.ints("--n-prompt", in: counts) ?? [512]
        let generations = try arguments.ints("--n-gen", in: counts) ?? [128]
        let depths = try arguments.ints("--n-depth", in: counts) ?? [0]
        let batches = try arguments.ints("--n-seq", in: 1...512) ?? [1]
        let kinds =
            prompts.filter { $0 > 0 }.map { Test(prompt: $0) }
            + generations.filter { $0 > 0 }.map { Test(generate: $0) }
        tests = depths.flatMap { depth in
            batches.flatMap { batch in
                kinds.map { Test(prompt: $0.prompt, generate: $0.generate, depth: depth, batch: batch) }
            }
        }
        guard !tests.isEmpty else { throw UsageError("-p and -n are both 0: nothing to measure") }
        threads = try arguments.ints("--threads", in: 1...1024) ?? [nil]
        repetitions = try arguments.int("--repetitions", in: 1...1_000_000) ?? 5
        format = try arguments.choice("--output") ?? .md
        reportFile = arguments.string("--report")
        let product = try arguments.choice("--matmul", of: Product.self)
        guard product == nil || !arguments.has("--tier") else { throw UsageError("--matmul and --tier: give only one") }
        var configuration = try arguments.configuration(Self.modelOptions)
        if product == .blas { configuration.tier = .portable }
        self.configuration = configuration
    }

    func run() async throws -> Bool {
        var results: [SpeedResult] = []
        for threads in threads { results += try await measure(threads: threads) }
        // Last, since its memory would count in the tests' peaks.
        let meter = try MachineMeter()
        for threads in Set(results.map(\.threads)) {
            showProgress("the machine with \(threads) threads")
            let machine = meter.measure(threads: threads, tier: configuration.tier)
            for index in results.indices where results[index].threads == threads { results[index].compare(to: machine) }
        }
        showProgress("")
        try printResults(results)
        if let reportFile { try SpeedReport.report(results).write(to: reportFile) }
        if isatty(STDERR_FILENO) == 1 { remember(results) }
        return true
    }

    /// Scripts keep their own results.
    private func remember(_ results: [SpeedResult]) {
        let history = SpeedHistory()
        do {
            try history.add(results)
            if (try? history.lastTwo()) != nil {
                printToStandardError("`bench compare` compares this run with the last one of this model.")
            }
        } catch {
            printToStandardError(
                "bench: speed: this run was not kept for `bench compare`: \(error.localizedDescription)")
        }
    }

    private func printResults(_ results: [SpeedResult]) throws {
        switch format {
        case .json: try printJSON(results, pretty: true)
        case .jsonl: for result in results { try printJSON(result) }
        case .csv: print(try SpeedCSV.render(results))
        case .sql: print(try SpeedCSV.renderSQL(results))
        case .md: print(SpeedTable.render(results, width: terminalWidth(.output)))
        }
    }

    private func measure(threads: Int?) async throws -> [SpeedResult] {
        let clock = ContinuousClock()
        let started = clock.now
        // The context that the tests need, even if longer than the trained one, on which speed does not depend.
        let drafted = configuration.draftModel == nil ? 0 : 2
        var configuration = configuration
        configuration.contextSize = tests.map { $0.depth + $0.prompt + $0.generate + drafted }.max()
        configuration.threads = threads
        let model = try await LocalModel.load(model, configuration)
        let loadSeconds = (clock.now - started) / .seconds(1)
        var results: [SpeedResult] = []
        for test in tests {
            let begun = Date()
            let label = "\(test.name), \(model.threads) threads: "
            showProgress(label + "warm-up")
            _ = try await model.measure(prompt: test.prompt, generate: test.generate, batch: test.batch)
            let samples = try await model.measure(
                prompt: test.prompt, generate: test.generate, depth: test.depth, batch: test.batch,
                repetitions: repetitions
            ) { [repetitions] repetition in
                showProgress(label + (repetition == 0 ? "depth" : "\(repetition) of \(repetitions)"))
            }
            showProgress("")
            results.append(
                SpeedResult(test, samples, of: model, at: self.model, loadSeconds: loadSeconds, begun: begun))
        }
        return results
    }
}
