public import Foundation

/// A model that answers every prompt with one fixed text, and every tool result with another. Each text is a single
/// token; the layers add nothing to the embedding that selects it.
public struct ScriptedModel: Sendable {
    /// Answers to user messages and to tool results.
    public var answers: (String, String)
    /// Chat template. A letter that selects the answer is added after its generation prompt.
    public var template = SampleTemplate.object

    public init(_ answer: String, afterTool other: String = "") { answers = (answer, other) }

    public func builder() -> GGUFBuilder {
        var model = TinyModel()
        model.context = 4096
        model.template = template.replacing(
            "'<|im_start|>assistant\\n'",
            with: "'<|im_start|>assistant\\n' + ('B' if messages[-1].role == 'tool' else 'A')"
        )
        var builder = model.builder()
        let texts = [answers.0, answers.1].map { $0.replacing(" ", with: "\u{2581}") }
        append(texts, Array(repeating: 0, count: 2), to: &builder)
        let count = TinyModel.vocabularySize + texts.count
        // One-hot embeddings: dimension 0 selects the end token, 1 and 2 an answer.
        var embedding = Array(repeating: Float(0), count: count * model.width)
        for token in 0..<count { embedding[token * model.width] = 1 }
        for (index, letter) in "AB".utf8.enumerated() {
            let row = Int(TinyModel.token(letter)) * model.width
            embedding[row] = 0
            embedding[row + index + 1] = 1
        }
        var output = Array(repeating: Float(0), count: count * model.width)
        output[Int(TinyModel.endOfSequence) * model.width] = 1
        for index in texts.indices { output[(TinyModel.vocabularySize + index) * model.width + index + 1] = 1 }
        for index in builder.tensors.indices {
            let tensor = builder.tensors[index]
            let isSilent = ["attn_output.weight", "ffn_down.weight"].contains { tensor.name.hasSuffix($0) }
            switch tensor.name {
            case "token_embd.weight":
                builder.tensors[index] = .init(tensor.name, shape: [model.width, count], embedding)
            case "output.weight": builder.tensors[index] = .init(tensor.name, shape: [model.width, count], output)
            case _ where isSilent: builder.tensors[index].data = Array(repeating: 0, count: tensor.data.count)
            default: break
            }
        }
        return builder
    }

    /// Writes the file into `directory`.
    public func write(in directory: TemporaryDirectory, as name: String = "scripted.gguf") throws -> URL {
        URL(filePath: try directory.write(builder().bytes(), as: name))
    }

    private func append(_ texts: [String], _ scores: [Float], to builder: inout GGUFBuilder) {
        let bytes = (0..<256).map { String(format: "<0x%02X>", $0) }
        let types = [2, 3, 3] + Array(repeating: Int32(6), count: 256) + Array(repeating: 1, count: texts.count)
        let vocabulary: [(key: String, value: GGUFBuilder.Value)] = [
            ("tokenizer.ggml.tokens", .strings(["<unk>", "<s>", "</s>"] + bytes + texts)),
            ("tokenizer.ggml.scores", .floats(Array(repeating: 0, count: TinyModel.vocabularySize) + scores)),
            ("tokenizer.ggml.token_type", .int32s(types)),
        ]
        let keys = Set(vocabulary.map(\.key))
        builder.metadata = builder.metadata.filter { !keys.contains($0.key) } + vocabulary
    }
}
