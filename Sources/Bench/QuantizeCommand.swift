import CommandLineParsing
import Foundation
import LocalLLM

/// Quantizes a model.
struct QuantizeCommand: Command {
    static let name = "quantize"
    static let summary = "quantize a model to a GGUF file"
    static let synopsis = "IN.gguf OUT.gguf TYPE [--imatrix FILE] [--tensor-type PATTERN=TYPE]… [-t N]"
    static let details = """
        TYPE is one of \(Mixture.names.joined(separator: ", ")).
        Formats per tensor follow llama.cpp's rules. The input should be F32, F16 or BF16: requantizing loses more precision.
        --tensor-type sets the format of tensors whose names match a regular expression; the first match applies.
        """
    static let options: [Option] = [
        Option("--imatrix", value: "FILE", help: "importance matrix, from bench imatrix or llama-imatrix"),
        Option("--tensor-type", value: "PATTERN=TYPE", repeats: true, help: "format of the tensors whose names match"),
        ModelOption.threads.option,
    ]
    static let takesOperands = true

    let input: String
    let output: String
    let mixture: Mixture
    let overrides: [TypeOverride]
    let importance: String?
    let threads: Int?

    init(_ arguments: Arguments) throws(UsageError) {
        let operands = arguments.operands
        guard operands.count == 3 else {
            throw UsageError("expected IN, OUT and TYPE, found \(operands.count) operands")
        }
        (input, output) = (operands[0], operands[1])
        mixture = try Self.mixture(operands[2])
        overrides = try Self.overrides(arguments.strings("--tensor-type"))
        importance = arguments.string("--imatrix")
        threads = try arguments.configuration([.threads]).threads
    }

    static func mixture(_ name: String) throws(UsageError) -> Mixture {
        guard let mixture = Mixture(named: name) else {
            throw UsageError("unknown type '\(name)'; expected one of \(Mixture.names.joined(separator: ", "))")
        }
        return mixture
    }

    static func overrides(_ texts: [String]) throws(UsageError) -> [TypeOverride] {
        var overrides: [TypeOverride] = []
        for text in texts {
            guard let override = TypeOverride(text) else {
                throw UsageError(
                    "--tensor-type: expected PATTERN=TYPE with a regular expression and one of "
                        + "\(TypeOverride.formats.joined(separator: ", ")), found '\(text)'")
            }
            overrides.append(override)
        }
        return overrides
    }

    func run() async throws -> Bool {
        let start = ContinuousClock.now
        let quantizer = try Quantizer(
            modelAt: input, mixture, overrides: overrides,
            importance: importance.map { try ImportanceMatrix(path: $0) },
            threads: threads)
        warn(quantizer.summary)
        defer { showProgress("") }
        try quantizer.write(to: output) { showProgress("quantizing \(Int($0 * 100)) %") }
        try printJSON(Result(quantizer.summary, seconds: (ContinuousClock.now - start) / .seconds(1)))
        return true
    }

    /// Prints warnings about tensors with unexpected formats to standard error.
    private func warn(_ summary: Quantizer.Summary) {
        func list(_ names: [String], _ what: String) {
            guard !names.isEmpty else { return }
            let shown = names.prefix(3).joined(separator: ", ") + (names.count > 3 ? " …" : "")
            printToStandardError("bench: \(names.count) \(what): \(shown)")
        }
        list(summary.requantized, "tensors were already quantized and lose more precision")
        list(
            summary.fallbacks,
            "tensors use a fallback format: their rows are not a multiple of the block size")
        list(summary.withoutImportance, "tensors are not in the importance matrix")
    }

    struct Result: Encodable {
        let sourceBytes: Int
        let bytes: Int
        let bitsPerWeight: Double
        let tensors: [String: Int]
        let seconds: Double

        init(_ summary: Quantizer.Summary, seconds: Double) {
            sourceBytes = summary.sourceBytes
            bytes = summary.bytes
            bitsPerWeight = summary.bitsPerWeight
            tensors = summary.tensors
            self.seconds = seconds
        }

        enum CodingKeys: String, CodingKey {
            case sourceBytes = "source_bytes"
            case bytes
            case bitsPerWeight = "bits_per_weight"
            case tensors, seconds
        }
    }
}
