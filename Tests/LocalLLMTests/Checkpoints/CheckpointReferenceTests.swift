@testable import GGUF
import JSON
import Foundation
import TestSupport
import Testing
import Tokenizer

@testable import LocalLLM

/// `tokenizer.json` files with every part that the `tokenizers` package has, and what it makes of texts in many scripts:
/// `Tests/Reference/tokenizer_cases.py`.
@Suite struct CheckpointReferenceTests {
    private struct Cases {
        let texts: [[UInt8]]
        let models: [(name: String, value: JSON)]
        let cases: [JSON]
    }

    private static let file = Result {
        let url = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Reference/tokenizer_cases.json")
        let json = try JSON(parsing: Array(try Data(contentsOf: url)), .modelFiles)
        return Cases(
            texts: (json["texts"]?.array ?? []).compactMap(\.utf8), models: json["models"]?.object?.members ?? [],
            cases: json["cases"]?.array ?? [])
    }

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func folder(_ entry: JSON) throws -> URL {
        var json = entry["tokenizer"]?.string ?? ""
        for (key, model) in try Self.file.get().models {
            json = json.replacing("\"@\(key)\"", with: model.string ?? "")
        }
        return try SafetensorsBuilder([.init("model.norm.weight", shape: [8], Array(repeating: 1, count: 8))]).write(
            config: """
                {"architectures": ["LlamaForCausalLM"], "vocab_size": 1, "hidden_size": 8, "intermediate_size": 8,
                 "num_hidden_layers": 1, "num_attention_heads": 1, "max_position_embeddings": 8, "rms_norm_eps": 1e-5}
                """, in: directory, as: "folder", others: ["tokenizer.json": json])
    }

    @Test(arguments: 0..<((try? file.get().cases.count) ?? 1))
    func `IDs and decoded text are those of the tokenizers package, or the folder is refused by name`(
        index: Int
    ) throws {
        let (texts, entry) = (try Self.file.get().texts, try Self.file.get().cases[index])
        let name = entry["name"]?.string ?? ""
        let path = try folder(entry).path
        if let refused = entry["refused"]?.string {
            let error = #expect(throws: ModelFileError.self, "\(name)") { try GGUFFile(path: path) }
            #expect(error?.message.contains(refused) == true, "\(name): \(error?.message ?? "")")
            return
        }
        let description = try #require(try GGUFFile(path: path).metadata.tokenizerDescription())
        let tokenizer = try TextTokenizer(description)
        let (ids, decoded) = (try #require(entry["ids"]?.array), try #require(entry["decoded"]?.array))
        try #require(ids.count == texts.count && decoded.count == texts.count && texts.count >= 200)
        for (index, text) in texts.enumerated() {
            let text = String(decoding: text, as: UTF8.self)
            let found = tokenizer.encode(text, addSpecial: true, parseSpecial: true)
            #expect(found.map { Int($0) } == ids[index].array?.compactMap(\.int), "\(name): \(text)")
            let expected = decoded[index].utf8 ?? Array(text.utf8)
            #expect(Array(tokenizer.decode(found).utf8) == expected, "\(name): \(text)")
        }
    }
}
