import CommandLineParsing
import Foundation
import LocalLLM
import Tokenizer

/// Converts text to token ids.
struct TokenizeCommand: Command {
    static let name = "tokenize"
    static let summary = "convert text to token ids, one text per JSON line"
    static let synopsis = "-m FILE [--add-special] [--parse-special] < LINES"
    static let details = """
        Reads lines {"text": "…"} and prints the ids of each as a line [1,2,3], or {"error": "…"} for an invalid line, which
        makes it exit with 1 at the end. A vocabulary-only file suffices.
        """
    static let options: [Option] = [
        .model,
        Option("--add-special", help: "add the model's special tokens, e.g. beginning-of-sequence"),
        Option("--parse-special", help: "parse special tokens in the text"),
    ]

    let model: String
    let addSpecial: Bool
    let parseSpecial: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        model = try arguments.model
        addSpecial = arguments.has("--add-special")
        parseSpecial = arguments.has("--parse-special")
    }

    struct Line: Decodable { let text: String }

    func run() async throws -> Bool {
        let tokenizer = try LocalModel.tokenizer(of: URL(fileURLWithPath: model))
        return try JSONLines.map { line in
            let text = try JSONLines.decode(Line.self, from: line).text
            return tokenizer.encode(text, addSpecial: addSpecial, parseSpecial: parseSpecial)
        }
    }
}

/// Converts token ids to text.
struct DetokenizeCommand: Command {
    static let name = "detokenize"
    static let summary = "convert token ids to text, one list per JSON line"
    static let synopsis = "-m FILE [--special] < LINES"
    static let details = """
        Reads lines {"ids": [1,2,3]} or [1,2,3] and prints {"text": "…"} for each, or {"error": "…"} for an invalid line,
        which makes it exit with 1 at the end. Bytes that are not UTF-8 become U+FFFD.
        """
    static let options: [Option] = [
        .model, Option("--special", help: "print control tokens as text instead of dropping them"),
    ]

    let model: String
    let special: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        model = try arguments.model
        special = arguments.has("--special")
    }

    /// `{"ids": […]}`, or the array alone.
    struct Line: Decodable {
        let ids: [Int32]

        private enum CodingKeys: String, CodingKey { case ids }

        init(from decoder: any Decoder) throws {
            if let object = try? decoder.container(keyedBy: CodingKeys.self) {
                ids = try object.decode([Int32].self, forKey: .ids)
            } else {
                ids = try decoder.singleValueContainer().decode([Int32].self)
            }
        }
    }

    struct Output: Encodable { let text: String }

    func run() async throws -> Bool {
        let tokenizer = try LocalModel.tokenizer(of: URL(fileURLWithPath: model))
        return try JSONLines.map { line in
            let ids = try JSONLines.decode(Line.self, from: line).ids
            if let id = ids.first(where: { !(0..<tokenizer.vocabularySize).contains(Int($0)) }) {
                throw BenchError("'ids': expected 0..<\(tokenizer.vocabularySize), found \(id)")
            }
            return Output(text: tokenizer.decode(ids, includingControl: special))
        }
    }
}
