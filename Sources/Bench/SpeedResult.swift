import Foundation
import LocalLLM

/// One test's result. The names in JSON are llama-bench's, where it has the same thing.
struct SpeedResult: Encodable {
    var buildCommit = Host.commit
    var cpu = Host.processor
    var gpu = ""
    var backends = "CPU"
    var kernels: String
    var modelFilename: String
    /// Architecture, size and quantization: `llama 1.24B Q4_K`.
    var modelType: String
    var modelBytes: Int
    var modelParameters: Int
    /// Rows that enter the model at once.
    var batch = 512
    var microBatch = 512
    var threads: Int
    var prompt: Int
    var generated: Int
    var depth: Int
    var testTime: Date
    var samplesNanoseconds: [Int]
    var meanNanoseconds: Int
    var deviationNanoseconds: Int
    var samplesTokensPerSecond: [Double]
    var meanTokensPerSecond: Double
    var deviationTokensPerSecond: Double
    var loadSeconds: Double
    var firstTokenSeconds: Double
    var peakResidentBytes: Int

    enum CodingKeys: String, CodingKey {
        case buildCommit = "build_commit"
        case cpu = "cpu_info"
        case gpu = "gpu_info"
        case backends, kernels
        case modelFilename = "model_filename"
        case modelType = "model_type"
        case modelBytes = "model_size"
        case modelParameters = "model_n_params"
        case batch = "n_batch"
        case microBatch = "n_ubatch"
        case threads = "n_threads"
        case prompt = "n_prompt"
        case generated = "n_gen"
        case depth = "n_depth"
        case testTime = "test_time"
        case samplesNanoseconds = "samples_ns"
        case meanNanoseconds = "avg_ns"
        case deviationNanoseconds = "stddev_ns"
        case samplesTokensPerSecond = "samples_ts"
        case meanTokensPerSecond = "avg_ts"
        case deviationTokensPerSecond = "stddev_ts"
        case loadSeconds = "load_s"
        case firstTokenSeconds = "first_token_s"
        case peakResidentBytes = "peak_rss_bytes"
    }
}

extension SpeedResult {
    init(
        _ test: SpeedCommand.Test, _ samples: [LanguageModel.Measurement], of model: LanguageModel, at path: String,
        loadSeconds: Double, begun: Date
    ) {
        // A clock's tick at least, so that no speed is infinite.
        let seconds = samples.map { max($0.seconds, 1e-9) }
        let speeds = seconds.map { Double(test.prompt + test.generate) / $0 }
        let info = model.info
        self.init(
            kernels: model.kernels, modelFilename: path,
            modelType: "\(info.architecture) \(SpeedTable.short(info.parameterCount)) \(info.quantization)",
            modelBytes: info.fileBytes, modelParameters: info.parameterCount, threads: model.threads,
            prompt: test.prompt, generated: test.generate, depth: test.depth, testTime: begun,
            samplesNanoseconds: seconds.map { Int($0 * 1e9) }, meanNanoseconds: Int(seconds.mean * 1e9),
            deviationNanoseconds: Int(seconds.sampleDeviation * 1e9), samplesTokensPerSecond: speeds,
            meanTokensPerSecond: speeds.mean, deviationTokensPerSecond: speeds.sampleDeviation,
            loadSeconds: loadSeconds, firstTokenSeconds: samples.map(\.secondsToFirstToken).mean,
            peakResidentBytes: Host.peakResidentBytes)
    }

    var test: SpeedCommand.Test { .init(prompt: prompt, generate: generated, depth: depth) }
}

/// Facts about this machine and this program.
enum Host {
    /// The commit that is checked out where the program was built; "unknown" outside a checkout.
    static let commit: String = {
        let git = Process()
        git.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
        git.arguments = ["git", "-C", folder, "rev-parse", "--short", "HEAD"]
        let output = Pipe()
        git.standardOutput = output
        git.standardError = FileHandle.nullDevice
        guard (try? git.run()) != nil else { return "unknown" }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        git.waitUntilExit()
        let hash = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return git.terminationStatus == 0 && !hash.isEmpty ? hash : "unknown"
    }()

    static let processor = field("model name", of: "/proc/cpuinfo") ?? "unknown"

    /// The most memory that this process has had at once, mapped files included; 0 where the kernel does not say.
    static var peakResidentBytes: Int {
        let kilobytes = field("VmHWM", of: "/proc/self/status")?.split(separator: " ").first.flatMap { Int($0) }
        return (kilobytes ?? 0) * 1024
    }

    /// The value of the first line `name: value`.
    private static func field(_ name: String, of path: String) -> String? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2, parts[0].trimmingCharacters(in: .whitespaces) == name {
                return parts[1].trimmingCharacters(in: .whitespaces)
            }
        }
        return nil
    }
}
