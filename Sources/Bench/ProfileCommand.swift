import CommandLineParsing
import Foundation
import LocalLLM
import Platform

/// Shows where the time of a prompt's and of an answer's steps goes, and how near each part is to what the machine can do.
struct ProfileCommand: Command {
    static let name = "profile"
    static let summary = "times of the parts of a step, and their share of the machine's limits"
    static let synopsis = "-m FILE [-p N] [-n N] [-d N] [-b N] [-t N] [-o md|json]"
    static let details = """
        Computes the prefill of -p tokens and the decoding of -n tokens, each at depth -d and with -b sequences, and prints a
        table for each. A part of the step is a region that all threads compute together: the products of some weights with
        the same input, attention, norms and so on.

        "of limit" is the time that the part takes at least, as a share of the time that it took. The least time is that of
        reading its bytes once (weights, keys and values) at the read bandwidth, or that of its operations at the peak rate
        of the kernels in use, whichever is longer; "limit" says which. Both are measured in the same run, as by "bench
        machine". Operations on 14-bit activations count as two operations on bytes. Parts in which neither counts have
        no limit. "between parts" is the time in which no part ran.
        """
    static let options: [Option] = [
        .model,
        Option("-p", "--n-prompt", value: "N", help: "prompt tokens; 0: none (default: 512)"),
        Option("-n", "--n-gen", value: "N", help: "tokens to generate; 0: none (default: 32)"),
        Option("-d", "--n-depth", value: "N", help: "tokens already in the context (default: 0)"),
        Option("-b", "--n-seq", value: "N", help: "sequences in parallel (default: 1)"),
        Option("-o", "--output", value: "md|json", help: "tables or JSON (default: md)"),
    ]
    static let modelOptions: [ModelOption] = [.cacheType] + ModelOption.loading

    let model: String
    let (prompt, generate, depth, batch): (Int, Int, Int, Int)
    let configuration: LocalModel.Configuration
    let format: MachineCommand.Format

    init(_ arguments: Arguments) throws(UsageError) {
        model = try arguments.model
        let counts = 0...10_000_000
        prompt = try arguments.int("--n-prompt", in: counts) ?? 512
        generate = try arguments.int("--n-gen", in: counts) ?? 32
        depth = try arguments.int("--n-depth", in: counts) ?? 0
        batch = try arguments.int("--n-seq", in: 1...512) ?? 1
        guard prompt > 0 || generate > 0 else { throw UsageError("-p and -n are both 0: nothing to measure") }
        configuration = try arguments.configuration(Self.modelOptions)
        format = try arguments.choice("--output") ?? .md
    }

    /// One kind of step.
    struct Profile: Encodable {
        let test: String
        let steps: Int
        let seconds: Double
        let parts: [Part]
    }

    struct Part: Encodable {
        let name: String
        let seconds: Double
        /// Of the time of all parts.
        let share: Double
        /// The least time as a share of the time taken; `nil`: the part has no limit.
        let limitShare: Double?
        let limit: Limit?

        enum Limit: String, Encodable { case reading, computing }

        enum CodingKeys: String, CodingKey {
            case name, seconds, share, limit
            case limitShare = "limit_share"
        }
    }

    struct Output: Encodable {
        var cpu = ProcessorInfo.name
        let kernels: String
        let threads: Int
        let profiles: [Profile]

        enum CodingKeys: String, CodingKey {
            case cpu = "cpu_info"
            case threads = "n_threads"
            case kernels, profiles
        }
    }

    func run() async throws -> Bool {
        var configuration = configuration
        configuration.contextSize = depth + prompt + generate
        let model = try await LocalModel.load(model, configuration)
        var measured: [(test: SpeedCommand.Test, parts: [ProfiledPart], seconds: Double)] = []
        for test in [SpeedCommand.Test(prompt: prompt), SpeedCommand.Test(generate: generate)] {
            guard test.prompt + test.generate > 0 else { continue }
            let test = SpeedCommand.Test(prompt: test.prompt, generate: test.generate, depth: depth, batch: batch)
            showProgress(test.name)
            let (parts, seconds) = try await model.profile(
                prompt: test.prompt, generate: test.generate, depth: depth, batch: batch)
            measured.append((test, parts, seconds))
        }
        showProgress("the machine")
        let machine = try MachineMeter().measure(threads: model.threads, tier: configuration.tier)
        showProgress("")
        let output = Output(
            kernels: model.kernels, threads: model.threads,
            profiles: measured.map { Self.profile($0.test, $0.parts, seconds: $0.seconds, on: machine) })
        switch format {
        case .json: try printJSON(output, pretty: true)
        case .md: print(Self.render(output))
        }
        return true
    }

    static func profile(
        _ test: SpeedCommand.Test, _ parts: [ProfiledPart], seconds: Double, on machine: MachineMeasurement
    ) -> Profile {
        let rest = ProfiledPart(name: "between parts", seconds: max(0, seconds - parts.reduce(0) { $0 + $1.seconds }))
        let rows = (parts + [rest]).map { part in
            let (reading, computing) = part.leastSeconds(on: machine)
            let least = max(reading, computing)
            return Part(
                name: part.name, seconds: part.seconds, share: part.seconds / max(seconds, 1e-9),
                limitShare: least > 0 ? least / max(part.seconds, 1e-9) : nil,
                limit: least == 0 ? nil : reading > computing ? .reading : .computing)
        }
        return Profile(test: test.name, steps: max(1, test.generate), seconds: seconds, parts: rows)
    }

    static func render(_ output: Output) -> String {
        let tables = output.profiles.map { profile in
            let rows = profile.parts.map { part in
                [
                    part.name, String(repeating: "█", count: Int((part.share * 40).rounded())),
                    String(format: "%.1f %%", 100 * part.share),
                    String(format: "%.3f", 1e3 * part.seconds / Double(profile.steps)),
                    part.limitShare.map { String(format: "%.0f %%", 100 * $0) } ?? "", part.limit?.rawValue ?? "",
                ]
            }
            return markdownTable(
                [profile.test, "", "time", profile.steps > 1 ? "ms a token" : "ms", "of limit", "limit"], rows,
                leftAligned: [0, 1, 5])
        }
        return (tables + ["kernels: \(output.kernels), \(output.threads) threads, \(output.cpu)"])
            .joined(separator: "\n\n")
    }
}
