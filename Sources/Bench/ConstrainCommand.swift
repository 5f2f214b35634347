import CommandLineParsing
import Constraint
import Foundation
import JSON
import LocalLLM
import Platform
import Tokenizer

/// Compiles constraints, checks texts against them, and measures the time of the masks.
struct ConstrainCommand: Command {
    static let name = "constrain"
    static let summary = "check texts against schemas, regular expressions, grammars and choices; time the masks"
    static let synopsis = "-m FILE < LINES"
    static let details = """
        Reads lines {"schema": {…}}, {"regex": "…"}, {"grammar": "…"} (GBNF), {"lark": "…"} or {"choice": ["…"]}, each with
        "texts": ["…"] and, for schemas, optionally "whitespace": "free" or "compact". Free accepts any JSON text: white
        space, properties in any order, any spelling of numbers and characters. Compact accepts no white space between
        values. The default accepts what a model may generate: at most one space after a colon or comma. Prints a line per
        input: {"error", "compile_us", "results": [{"accepted", "at"}], "mask_us": {"mean", "p50", "p99", "max"}, "masks"}:
        each text is tokenized, the full mask is computed before each token, and the text is accepted if the masks allow
        every token and then the end. "at" is the byte offset at which a text was refused. Times are processor time of the
        thread. A vocabulary-only file suffices. Exits with 1 if a line is invalid.
        """
    static let options: [Option] = [.model]

    let model: String

    init(_ arguments: Arguments) throws(UsageError) { model = try arguments.model }

    func run() async throws -> Bool {
        let tokenizer = try LocalModel.tokenizer(of: URL(fileURLWithPath: model))
        let vocabulary = TokenVocabulary(tokenizer)
        return try JSONLines.map { line in
            let request = try Request(line)
            return Self.answer(request, tokenizer, vocabulary)
        }
    }

    struct Request {
        var source: Constraint.Source
        var texts: [String]

        init(_ line: Data) throws {
            struct Fields: Decodable {
                var schema: JSON?
                var regex: String?
                var grammar: String?
                var lark: String?
                var choice: [String]?
                var texts: [String]?
                var whitespace: String?
            }
            let fields = try JSONLines.decode(Fields.self, from: line)
            texts = fields.texts ?? []
            let isFree = fields.whitespace == "free"
            let isCompact = fields.whitespace == "compact"
            guard isFree || isCompact || fields.whitespace == nil else {
                throw BenchError("'whitespace': expected \"free\" or \"compact\", found \"\(fields.whitespace ?? "")\"")
            }
            if let schema = fields.schema?.text {
                let style = Constraint.JSONStyle(
                    whitespace: isFree ? .free : isCompact ? .compact : .separators, anySpelling: isFree)
                source = .jsonSchema(schema, style)
            } else if let regex = fields.regex {
                source = .regex(regex)
            } else if let grammar = fields.grammar {
                source = .grammar(grammar)
            } else if let lark = fields.lark {
                source = .lark(lark)
            } else if let choice = fields.choice {
                source = .choice(choice)
            } else {
                throw BenchError("'schema', 'regex', 'grammar', 'lark' or 'choice' is missing")
            }
        }
    }

    struct Answer: Encodable {
        struct Result: Encodable {
            var accepted: Bool
            var at: Int?
        }
        struct Times: Encodable {
            var mean = 0.0
            var p50 = 0.0
            var p99 = 0.0
            var max = 0.0
        }
        var error: String?
        var compileMicroseconds: Double
        var results: [Result] = []
        var mask = Times()
        var masks = 0

        private enum CodingKeys: String, CodingKey {
            case error, results, masks
            case compileMicroseconds = "compile_us"
            case mask = "mask_us"
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(error, forKey: .error)
            try container.encode(compileMicroseconds, forKey: .compileMicroseconds)
            try container.encode(results, forKey: .results)
            try container.encode(mask, forKey: .mask)
            try container.encode(masks, forKey: .masks)
        }
    }

    private static func answer(_ request: Request, _ tokenizer: TextTokenizer, _ vocabulary: TokenVocabulary) -> Answer
    {
        let start = ThreadTime.seconds
        let constraint: Constraint
        do {
            constraint = try Constraint.compile(request.source, vocabulary: vocabulary)
        } catch {
            return Answer(error: error.description, compileMicroseconds: microseconds(since: start))
        }
        var answer = Answer(compileMicroseconds: microseconds(since: start))
        var (times, mask) = ([Double](), TokenMask(count: vocabulary.count))
        do {
            for text in request.texts {
                var matcher = constraint.matcher()
                var at: Int?
                for token in vocabulary.tokens(of: text, tokenizer) {
                    let before = ThreadTime.seconds
                    try matcher.mask(into: &mask)
                    times.append(microseconds(since: before))
                    guard mask.contains(token) else {
                        at = matcher.text.count
                        break
                    }
                    try matcher.accept(token)
                }
                if at == nil, try !matcher.isComplete() { at = matcher.text.count }
                answer.results.append(.init(accepted: at == nil, at: at))
            }
        } catch {
            answer.error = "\(error)"
        }
        times.sort()
        answer.masks = times.count
        if let longest = times.last {
            answer.mask = .init(
                mean: times.reduce(0, +) / Double(times.count), p50: times[times.count / 2],
                p99: times[min(times.count - 1, times.count * 99 / 100)], max: longest)
        }
        return answer
    }

    private static func microseconds(since start: Double) -> Double { (ThreadTime.seconds - start) * 1e6 }
}

extension TokenVocabulary {
    /// Tokenizes a text as a model would generate it. If the tokenizer adds a space before a text, the text is
    /// tokenized as the continuation of another one.
    fileprivate func tokens(of text: String, _ tokenizer: TextTokenizer) -> [Int32] {
        let tokens = tokenizer.encode(text, addSpecial: false, parseSpecial: false)
        let bytes = Array(text.utf8)
        if tokens.flatMap({ tokenizer.bytes(of: $0) }) == bytes { return tokens }
        let before = tokenizer.encode("\n", addSpecial: false, parseSpecial: false)
        let both = tokenizer.encode("\n" + text, addSpecial: false, parseSpecial: false)
        let rest = Array(both.dropFirst(before.count))
        if both.starts(with: before), rest.flatMap({ tokenizer.bytes(of: $0) }) == bytes { return rest }
        return longestTokens(bytes)
    }
}
