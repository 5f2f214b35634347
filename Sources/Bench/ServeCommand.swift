import CommandLineParsing
import Foundation

/// Measures a server with many concurrent clients.
struct ServeCommand: Command {
    static let name = "serve"
    static let summary = "measure throughput and latency of an OpenAI-compatible server under load"
    static let synopsis =
        "--url URL [--clients N,… | --rate R,…] [--prompt N] [--generate N] [--requests N] [--turns N] [-o md|json]"
    static let details = """
        For each number of --clients, that many concurrent clients each hold --requests conversations in sequence. A
        conversation starts with a unique prompt of random words; answers are streamed. --turns adds short follow-up
        messages; their time to first token shows whether the server caches prefixes. A calibration request, not part of
        the result, finds the number of words for --prompt tokens.

        With --rate, --requests conversations begin at random times, on average R per second, however many are running: the
        load that a server has from many people. Where it cannot keep up, times grow with the number of conversations.

        Goodput is the number of requests per second that met the objective: the first token within --first-token
        milliseconds, and further ones within --per-token milliseconds on average.

        Tokens are counted from the server's usage, or from text chunks if it sends none. Times are measured when bytes
        arrive. Failed requests are counted per error and excluded from the times; exits with 1 if any failed. The API
        key comes from --api-key-file or $OPENAI_API_KEY. Only --url is contacted; redirects are not followed.
        """
    static let options: [Option] = [
        Option("--url", value: "URL", help: "server URL, e.g. http://127.0.0.1:8080; with or without /v1"),
        Option("--clients", value: "N,…", help: "concurrent clients (default: 1,4,16)"),
        Option("--prompt", value: "N", help: "approximate tokens of the first message (default: 256)"),
        Option("--generate", value: "N", help: "maximum tokens per answer (default: 64)"),
        Option("--rate", value: "R,…", help: "conversations that begin per second, instead of --clients"),
        Option(
            "--requests", value: "N", help: "conversations per client; with --rate, all conversations (default: 4, 32)"),
        Option("--turns", value: "N", help: "answers per conversation (default: 1)"),
        Option("--first-token", value: "MS", help: "objective: time to the first token (default: 1000)"),
        Option("--per-token", value: "MS", help: "objective: mean time of further tokens (default: 100)"),
        Option("--model", value: "NAME", help: "model (default: the first that the server lists)"),
        Option("--api-key-file", value: "FILE", help: "file that contains only the API key"),
        Option("--timeout", value: "SECONDS", help: "maximum duration of an answer (default: 300)"),
        Option("-o", "--output", value: "md|json", help: "a table or JSON (default: md)"),
        Report.option,
    ]

    let url: URL
    let clients: [Int]
    /// Conversations that begin per second; empty: those of `clients`.
    let rates: [Double]
    let objective: ServeResult.Objective
    let reportFile: String?
    let prompt: Int
    let generate: Int
    let requests: Int
    let turns: Int
    let model: String?
    let key: String?
    let timeLimit: Duration
    let format: MachineCommand.Format

    init(_ arguments: Arguments) throws(UsageError) {
        let text = try arguments.required("--url")
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host?.isEmpty == false else {
            throw UsageError("--url: expected an address such as http://127.0.0.1:8080, found '\(text)'")
        }
        self.url = url
        rates = try arguments.doubles("--rate", in: 0.001...1000) ?? []
        guard rates.isEmpty || !arguments.has("--clients") else {
            throw UsageError("--clients and --rate: give only one")
        }
        clients = try arguments.ints("--clients", in: 1...1024) ?? [1, 4, 16]
        objective = ServeResult.Objective(
            firstToken: try (arguments.double("--first-token", in: 0...1e9) ?? 1000) / 1000,
            perToken: try (arguments.double("--per-token", in: 0...1e9) ?? 100) / 1000)
        reportFile = arguments.string("--report")
        prompt = try arguments.int("--prompt", in: 1...1_000_000) ?? 256
        generate = try arguments.int("--generate", in: 1...1_000_000) ?? 64
        requests = try arguments.int("--requests", in: 1...1_000_000) ?? (rates.isEmpty ? 4 : 32)
        turns = try arguments.int("--turns", in: 1...1000) ?? 1
        model = arguments.string("--model")
        key = try Self.key(file: arguments.string("--api-key-file"))
        timeLimit = .seconds(try arguments.int("--timeout", in: 1...86_400) ?? 300)
        format = try arguments.choice("--output") ?? .md
    }

    private static func key(file: String?) throws(UsageError) -> String? {
        guard let file else {
            return ProcessInfo.processInfo.environment["OPENAI_API_KEY"].flatMap { $0.isEmpty ? nil : $0 }
        }
        let text: String
        do {
            text = try String(contentsOfFile: file, encoding: .utf8)
        } catch {
            throw UsageError("--api-key-file: cannot read '\(file)': \(error.localizedDescription)")
        }
        let key = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw UsageError("--api-key-file: expected one line with the key in '\(file)'")
        }
        return key
    }

    struct Output: Encodable {
        let url, model: String
        let prompt, generate, requests, turns: Int
        let testTime: Date
        let objective: ServeResult.Objective
        let results: [ServeResult]

        enum CodingKeys: String, CodingKey {
            case url, model, objective, results
            case prompt = "n_prompt"
            case generate = "n_gen"
            case requests = "n_requests_per_client"
            case turns = "n_turns"
            case testTime = "test_time"
        }
    }

    func run() async throws -> Bool {
        let begun = Date()
        let client = try ServeClient(server: url, key: key, timeLimit: timeLimit)
        let name: String
        if let model { name = model } else { name = try await client.firstModel() }
        showProgress("one request to see that it works")
        let load = try await ServeLoad(client, model: name, promptTokens: prompt, tokens: generate, turns: turns)
        var results: [ServeResult] = []
        if rates.isEmpty {
            for count in clients { results.append(await load.run(clients: count, requests: requests, objective)) }
        }
        for rate in rates { results.append(await load.run(rate: rate, conversations: requests, objective)) }
        showProgress("")
        switch format {
        case .md: print(ServeTable.render(results, objective, width: terminalWidth(.output)))
        case .json:
            try printJSON(
                Output(
                    url: url.absoluteString, model: name, prompt: prompt, generate: generate, requests: requests,
                    turns: turns, testTime: begun, objective: objective, results: results),
                pretty: true)
        }
        if let reportFile { try ServeReport.report(results, of: self, model: name).write(to: reportFile) }
        return results.allSatisfy(\.errors.isEmpty)
    }
}
