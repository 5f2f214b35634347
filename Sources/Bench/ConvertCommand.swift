import CommandLineParsing
import Foundation
import LocalLLM

/// Converts a folder of safetensors to a GGUF file.
struct ConvertCommand: Command {
    static let name = "convert"
    static let summary = "convert a safetensors folder to a GGUF file"
    static let synopsis = "FOLDER OUT.gguf [TYPE] [--imatrix FILE] [--tensor-type PATTERN=TYPE]… [-t N]"
    static let details = """
        The folder is a model in Hugging Face's layout: config.json, *.safetensors, tokenizer files. Tensors and metadata keys
        are named as by llama.cpp's converter. Without TYPE, the weights keep their format. TYPE is one of
        \(Mixture.names.joined(separator: ", ")), as in bench quantize.
        """
    static let options = QuantizeCommand.options
    static let takesOperands = true

    let input: String
    let output: String
    let quantize: QuantizeCommand?

    init(_ arguments: Arguments) throws(UsageError) {
        let operands = arguments.operands
        guard (2...3).contains(operands.count) else {
            throw UsageError("expected FOLDER, OUT and optionally TYPE, found \(operands.count) operands")
        }
        (input, output) = (operands[0], operands[1])
        quantize = operands.count == 3 ? try QuantizeCommand(arguments) : nil
        for option in ["--imatrix", "--tensor-type"] where quantize == nil && arguments.has(option) {
            throw UsageError("\(option) needs a TYPE to quantize to")
        }
    }

    func run() async throws -> Bool {
        if let quantize { return try await quantize.run() }
        let start = ContinuousClock.now
        defer { showProgress("") }
        let result = try Quantizer.copy(modelAt: input, to: output) { showProgress("converting \(Int($0 * 100)) %") }
        try printJSON(
            Result(bytes: result.bytes, tensors: result.tensors, seconds: (ContinuousClock.now - start) / .seconds(1)))
        return true
    }

    struct Result: Encodable {
        let bytes: Int
        let tensors: [String: Int]
        let seconds: Double
    }
}
