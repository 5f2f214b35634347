public import Foundation
public import LocalLLM

/// An option that several programs share: its names on the command line and in a configuration file, its type and range,
/// and the member of `Target` that it sets.
public struct Setting<Target: Sendable>: Sendable {
    public typealias Path<Value> = any WritableKeyPath<Target, Value> & Sendable

    /// The type of the value, and what it sets.
    public enum Kind: Sendable {
        case count(ClosedRange<Int>, Path<Int?>)
        case number(ClosedRange<Double>, Path<Double?>)
        case flag(Path<Bool>)
        case file(Path<URL?>)
        /// A folder, which is created where it is needed.
        case folder(Path<URL?>)
        /// A number of bytes, written as 500M or 8G.
        case size(Path<Int?>)
        /// One of some names. `set` returns whether it knows the name.
        case name([String], get: @Sendable (Target) -> String?, set: @Sendable (String, inout Target) -> Bool)
        case adapters(Path<[LocalModel.AdapterFile]>)
    }

    public let option: Option
    /// Name in a configuration file.
    public let key: String
    public let kind: Kind

    public init(_ option: Option, key: String? = nil, _ kind: Kind) {
        self.option = option
        self.key = key ?? option.key
        self.kind = kind
    }
}

/// An option of loading a model.
public typealias ModelOption = Setting<LocalModel.Configuration>
/// An option of choosing the next token.
public typealias SamplingOption = Setting<SamplingOptions>

extension Setting<LocalModel.Configuration> {
    public static let context = Self(
        Option(
            "-c", "--context", value: "N", default: "the model's training context", help: "context length in tokens"),
        .count(1...Int(Int32.max), \.contextSize))
    public static let threads = Self(
        Option("-t", "--threads", value: "N", default: "one per physical core", help: "compute threads"),
        .count(1...1024, \.threads))
    public static let tier = Self(
        Option("--tier", value: "NAME", default: "the fastest that runs here", help: "kernels: \(KernelTier.names)"),
        .name(KernelTier.allCases.map(\.rawValue), get: { $0.tier?.rawValue }) { name, configuration in
            guard let tier = KernelTier(rawValue: name) else { return false }
            configuration.tier = tier
            return true
        })
    public static let cacheType = Self(
        Option(
            "--cache-type", value: "NAME", default: "f16",
            help:
                "KV cache format: \(KVCacheFormat.names); q8_0 takes half of the memory, q4 a quarter; both are less exact, q4 by far: not for Qwen 2 and 2.5 (docs/results.md)"
        ),
        .name(KVCacheFormat.allCases.map(\.rawValue), get: { $0.cacheFormat.rawValue }) { name, configuration in
            guard let format = KVCacheFormat(rawValue: name) else { return false }
            configuration.cacheFormat = format
            return true
        })
    public static let cacheDirectory = Self(
        Option(
            "--cache-dir", value: "DIR",
            default: "the user's cache folder, for downloaded models served on this machine",
            help: "keep what was computed of prompts in files here, for later starts (docs/security.md)"),
        .folder(\.cacheDirectory))
    public static let cacheDisk = Self(
        Option("--cache-disk", value: "SIZE", default: "8G", help: "maximum size of these files together; 0: none"),
        .size(\.cacheDiskBytes))
    public static let quantization = Self(
        Option("--quantize", value: "TYPE", help: "quantize the weights while loading: Q4_K_M, Q8_0, …"),
        .name(Mixture.names, get: \.quantization) { name, configuration in
            guard let mixture = Mixture(named: name) else { return false }
            configuration.quantization = mixture.name
            return true
        })
    public static let expertsOnDisk = Self(
        Option(
            "--experts-on-disk",
            help:
                "for a mixture of experts larger than the memory: read experts from the file when they are used, and keep as many as there is room for"
        ), .flag(\.expertsOnDisk))
    public static let unchecked = Self(
        Option(
            "--unchecked",
            help:
                "load a model although results of its architecture were never compared with another implementation's (docs/models.md)"
        ), .flag(\.allowsUnchecked))
    public static let draft = Self(
        Option(
            "--draft", value: "FILE", help: "a smaller model with the same vocabulary that drafts tokens, for speed"),
        .file(\.draftModel))
    public static let imageEncoder = Self(
        Option("--mmproj", value: "FILE", help: "the model's image encoder, a GGUF file"), .file(\.imageEncoder))
    public static let adapters = Self(
        Option(
            "--lora", value: "FILE[:SCALE]", repeats: true,
            help: "LoRA adapter (GGUF file or PEFT folder) and its scale, 1 if it is not given"), key: "adapters",
        .adapters(\.adapters))

    /// Options for every program that loads a model.
    public static let loading: [Self] = [.threads, .tier, .quantization, .expertsOnDisk, .unchecked]
    /// Options of programs that answer with a model.
    public static let all: [Self] =
        [
            .context, .imageEncoder, .draft, .adapters, .cacheType, .cacheDirectory, .cacheDisk,
        ] + loading
}

extension Setting<SamplingOptions> {
    public static let temperature = Self(
        Option("--temperature", value: "T", default: "the model's", help: "0 always takes the most likely token"),
        .number(0...100, \.temperature))
    public static let topK = Self(
        Option("--top-k", value: "N", help: "sample from the N most likely tokens; 0 disables"),
        .count(0...Int(Int32.max), \.topK))
    public static let topP = Self(
        Option("--top-p", value: "P", help: "sample from the most likely tokens with total probability P"),
        .number(0...1, \.topP))
    public static let minP = Self(
        Option("--min-p", value: "P", help: "drop tokens less likely than P times the most likely"),
        .number(0...1, \.minP))
    public static let typicalP = Self(
        Option("--typical-p", value: "P", help: "locally typical sampling; 1 is off"), .number(0...1, \.typicalP))
    public static let repetitionPenalty = Self(
        Option("--repetition-penalty", value: "X", help: "divides the logits of recent tokens; 1 is off"),
        .number(0.01...100, \.repetitionPenalty))

    /// The options for which a model's file may have recommendations.
    public static let recommended: [Self] = [.temperature, .topK, .topP, .minP, .typicalP, .repetitionPenalty]
}

/// What `byteCount` reads.
public let sizeForm = "a size such as 500M or 8G"

/// The number of bytes of a size such as 500M or 8G; `nil` if the text is none. K, M, G and T are powers of 1024.
public func byteCount(_ text: String) -> Int? {
    let units: [Character: Int] = ["K": 10, "M": 20, "G": 30, "T": 40]
    let shift = text.last.flatMap { units[Character($0.uppercased())] }
    guard let number = Int(shift == nil ? text[...] : text.dropLast()), number >= 0, number <= Int.max >> (shift ?? 0)
    else {
        return nil
    }
    return number << (shift ?? 0)
}

extension Arguments {
    /// Sets what the command line says.
    public func apply<Target>(_ settings: [Setting<Target>], to target: inout Target) throws(UsageError) {
        for setting in settings { try apply(setting, to: &target) }
    }

    private func apply<Target>(_ setting: Setting<Target>, to target: inout Target) throws(UsageError) {
        let name = setting.option.names.last!
        guard let text = string(name) else { return }
        switch setting.kind {
        case .count(let range, let path): target[keyPath: path] = try int(name, in: range)
        case .number(let range, let path): target[keyPath: path] = try double(name, in: range)
        case .flag(let path): target[keyPath: path] = true
        case .file(let path), .folder(let path): target[keyPath: path] = URL(fileURLWithPath: text)
        case .size(let path):
            guard let bytes = byteCount(text) else {
                throw UsageError("\(label(name)): expected \(sizeForm), found '\(text)'")
            }
            target[keyPath: path] = bytes
        case .name(let names, _, let set):
            guard set(text, &target) else { throw UsageError(label(name), expected: names, found: text) }
        case .adapters(let path): target[keyPath: path] = strings(name).map { .init(argument: $0) }
        }
    }

    /// What the command line says about loading a model.
    public func configuration(_ settings: [ModelOption]) throws(UsageError) -> LocalModel.Configuration {
        var configuration = LocalModel.Configuration()
        try apply(settings, to: &configuration)
        return configuration
    }
}

extension Option {
    public static let blockedWords = Option(
        "--blocked-words", value: "FILE",
        help: "block prompts and answers that contain a word or phrase of this file, one per line")
}

extension Arguments {
    /// The value of `Option.blockedWords`.
    public func guardrail() throws(UsageError) -> WordListGuardrail? {
        guard let file = string("--blocked-words") else { return nil }
        do {
            return try WordListGuardrail(contentsOf: URL(fileURLWithPath: file))
        } catch {
            throw UsageError("\(label("--blocked-words")) \(file): \(error.localizedDescription)")
        }
    }
}
