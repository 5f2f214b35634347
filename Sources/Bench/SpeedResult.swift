import Foundation
import LocalLLM
import Platform

/// The result of one test. JSON names are llama-bench's where it has the same field.
struct SpeedResult: Encodable, Sendable {
    var buildCommit = Host.commit
    var cpu = ProcessorInfo.name
    var gpu = ""
    var backends = "CPU"
    var kernels: String
    var modelFilename: String
    /// Architecture, size and quantization: `llama 1.24B Q4_K`.
    var modelType: String
    var modelBytes: Int
    var modelParameters: Int
    /// Maximum rows per step.
    var rowBudget = 512
    var microBatch = 512
    var threads: Int
    /// Format of keys and values in the KV cache: f16 or q8_0.
    var keyType = KVCacheFormat.f16.rawValue
    var valueType = KVCacheFormat.f16.rawValue
    var prompt: Int
    var generated: Int
    var depth: Int
    /// Concurrent sequences.
    var batch = 1
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
    /// Bytes read per second (generation tests) and operations per second (prompt tests); 0 in tests of the other kind.
    var readBytesPerSecond = 0.0
    var operationsPerSecond = 0.0
    var machineReadBandwidth: Double?
    var machineFloatPeak: Double?
    var machineBytePeak: Double?
    var readFraction: Double?
    var floatFraction: Double?
    var byteFraction: Double?
    /// Whether prefill multiplies 8-bit integers, and not floats; `nil`: unknown. Not in the output.
    var multipliesBytes: Bool?
    /// The share of what limits the test: of the bandwidth, or of the peak of the products that it computes.
    var limitingFraction: Double? { readFraction ?? (multipliesBytes == true ? byteFraction : floatFraction) }

    /// Columns in llama-bench's order, our own last.
    enum CodingKeys: String, CodingKey, CaseIterable {
        case buildCommit = "build_commit"
        case cpu = "cpu_info"
        case gpu = "gpu_info"
        case backends, kernels
        case modelFilename = "model_filename"
        case modelType = "model_type"
        case modelBytes = "model_size"
        case modelParameters = "model_n_params"
        case rowBudget = "n_batch"
        case microBatch = "n_ubatch"
        case threads = "n_threads"
        case keyType = "type_k"
        case valueType = "type_v"
        case prompt = "n_prompt"
        case generated = "n_gen"
        case depth = "n_depth"
        case testTime = "test_time"
        case meanNanoseconds = "avg_ns"
        case deviationNanoseconds = "stddev_ns"
        case meanTokensPerSecond = "avg_ts"
        case deviationTokensPerSecond = "stddev_ts"
        case loadSeconds = "load_s"
        case firstTokenSeconds = "first_token_s"
        case peakResidentBytes = "peak_rss_bytes"
        case batch = "n_seq"
        case readBytesPerSecond = "read_bps"
        case operationsPerSecond = "product_ops"
        case machineReadBandwidth = "machine_read_bps"
        case machineFloatPeak = "machine_float_ops"
        case machineBytePeak = "machine_int8_ops"
        case readFraction = "read_fraction"
        case floatFraction = "float_fraction"
        case byteFraction = "int8_fraction"
        case samplesNanoseconds = "samples_ns"
        case samplesTokensPerSecond = "samples_ts"
    }
}

extension SpeedResult {
    init(
        _ test: SpeedCommand.Test, _ samples: [LocalModel.Measurement], of model: LocalModel, at path: String,
        loadSeconds: Double, begun: Date
    ) {
        // At least 1 ns, so that no speed is infinite.
        let seconds = samples.map { max($0.seconds, 1e-9) }
        let speeds = seconds.map { Double(test.batch * (test.prompt + test.generate)) / $0 }
        let info = model.info
        self.init(
            kernels: model.kernels, modelFilename: path,
            modelType: "\(info.architecture) \(SpeedTable.short(info.parameterCount)) \(info.quantization)",
            modelBytes: info.fileBytes, modelParameters: info.parameterCount, threads: model.threads,
            keyType: model.cacheFormat.rawValue, valueType: model.cacheFormat.rawValue, prompt: test.prompt,
            generated: test.generate, depth: test.depth, batch: test.batch, testTime: begun,
            samplesNanoseconds: seconds.map { Int($0 * 1e9) }, meanNanoseconds: Int(seconds.mean * 1e9),
            deviationNanoseconds: Int(seconds.sampleDeviation * 1e9), samplesTokensPerSecond: speeds,
            meanTokensPerSecond: speeds.mean, deviationTokensPerSecond: speeds.sampleDeviation,
            loadSeconds: loadSeconds, firstTokenSeconds: samples.map(\.secondsToFirstToken).mean,
            peakResidentBytes: ThisProcess.peakResidentBytes,
            multipliesBytes: !["F32", "F16", "BF16"].contains(info.quantization) && model.tier != .portable)
        if test.generate > 0 {
            let unread = samples.reduce(0) { $0 + Double($1.unreadBytes) } / seconds.reduce(0, +)
            readBytesPerSecond =
                model.info.costs.bytesOfStep(of: test) * meanTokensPerSecond / Double(test.batch) - unread
        } else {
            operationsPerSecond = 2 * Double(info.costs.parametersOfPromptToken) * meanTokensPerSecond
        }
    }

    var test: SpeedCommand.Test { .init(prompt: prompt, generate: generated, depth: depth, batch: batch) }

    /// Adds the machine's peaks and the fractions of them that the test reached.
    mutating func compare(to machine: MachineMeasurement) {
        machineReadBandwidth = machine.readBandwidth
        machineFloatPeak = machine.floatPeak
        machineBytePeak = machine.bytePeak
        if readBytesPerSecond > 0 { readFraction = readBytesPerSecond / machine.readBandwidth }
        if operationsPerSecond > 0 {
            floatFraction = operationsPerSecond / machine.floatPeak
            byteFraction = operationsPerSecond / machine.bytePeak
        }
    }
}

extension LocalModel.Costs {
    /// Bytes read by a decode step in the middle of the generation: the weights once, and the KV cache or state of
    /// every sequence.
    func bytesOfStep(of test: SpeedCommand.Test) -> Double {
        let context = Double(test.depth + test.prompt) + Double(test.generate + 1) / 2
        return Double(bytesOfStep) + Double(test.batch) * stateBytes(context: context)
    }
}

/// Information about this machine and this program.
enum Host {
    /// The commit checked out where the program is; "unknown" outside a checkout.
    static let commit: String = {
        let git = Process()
        git.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        git.arguments = ["git", "-C", ThisProcess.folder.path, "rev-parse", "--short", "HEAD"]
        let output = Pipe()
        git.standardOutput = output
        git.standardError = FileHandle.nullDevice
        guard (try? git.run()) != nil else { return "unknown" }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        git.waitUntilExit()
        let hash = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return git.terminationStatus == 0 && !hash.isEmpty ? hash : "unknown"
    }()
}
