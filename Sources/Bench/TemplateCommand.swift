import CommandLineParsing
import Foundation
import LocalLLM
import Template
import Tokenizer

/// Renders chat templates.
struct TemplateCommand: Command {
    static let name = "template"
    static let summary = "render conversations with a chat template, one per JSON line"
    static let synopsis = "--template FILE < LINES"
    static let details = """
        Reads a JSON object per line and prints {"rendered": "…"} or {"error": "…"}. The object's members are the
        template's variables: messages, tools, add_generation_prompt, bos_token, eos_token, … The member "now" sets the
        time of strftime_now instead: ISO 8601, "YYYY-MM-DD HH:MM:SS" (local time), or seconds since 1970. Exits with 1
        if a line is not a JSON object or the template has a syntax error.
        """
    static let options: [Option] = [
        Option(
            "--template", value: "FILE",
            help: "Jinja source or a GGUF file with a template; its bos_token and eos_token are defaults")
    ]

    let path: String

    init(_ arguments: Arguments) throws(UsageError) { path = try arguments.required("--template") }

    private enum Output: Encodable {
        case rendered(String)
        case error(String)

        private enum CodingKeys: String, CodingKey { case rendered, error }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            switch self {
            case .rendered(let text): try container.encode(text, forKey: .rendered)
            case .error(let message): try container.encode(message, forKey: .error)
            }
        }
    }

    func run() async throws -> Bool {
        let (template, defaults) = try load()
        let allRead = try JSONLines.map { line in
            var (variables, now) = try Self.parse(line)
            for (key, value) in defaults.entries where variables[key] == nil { variables[key] = value }
            do {
                return Output.rendered(try template.get().render(variables, now: now))
            } catch {
                return Output.error("\(error)")
            }
        }
        if case .failure(let error) = template {
            printToStandardError("bench: template: \(path): \(error)")
            return false
        }
        return allRead
    }

    private func load() throws -> (template: Result<ChatTemplate, TemplateError>, defaults: TemplateObject) {
        let url = URL(fileURLWithPath: path)
        let content: Data
        do {
            content = try Data(contentsOf: url, options: .alwaysMapped)
        } catch {
            throw BenchError("--template: cannot read '\(path)': \(error.localizedDescription)")
        }
        guard content.starts(with: Data("GGUF".utf8)) else {
            guard let source = String(data: content, encoding: .utf8) else { throw BenchError("\(path) is not UTF-8") }
            return (Result { () throws(TemplateError) in try ChatTemplate(source) }, [:])
        }
        var defaults: TemplateObject = [:]
        if let tokenizer = try? LocalModel.tokenizer(of: url) {
            for (key, token) in [
                ("bos_token", tokenizer.beginningOfSequence), ("eos_token", tokenizer.endOfSequence),
            ] {
                guard let token else { continue }
                let bytes = tokenizer.bytes(of: token, includingControl: true)
                defaults[key] = .string(String(decoding: bytes, as: UTF8.self))
            }
        }
        return (.success(try LocalModel.chatTemplate(of: url)), defaults)
    }

    /// The variables and the time in a line.
    static func parse(_ line: Data) throws -> (variables: TemplateObject, now: Date?) {
        guard case .object(let object) = try TemplateValue(json: line) else {
            throw BenchError("expected a JSON object")
        }
        let variables = TemplateObject(object.entries.filter { $0.key != "now" })
        return (variables, try object["now"].flatMap(time))
    }

    private static func time(_ value: TemplateValue) throws -> Date? {
        switch value {
        case .none: return nil
        case .int(let seconds): return Date(timeIntervalSince1970: Double(seconds))
        case .double(let seconds): return Date(timeIntervalSince1970: seconds)
        case .string(let text):
            if let date = time(text) { return date }
            fallthrough
        default:
            throw BenchError(
                "'now': expected ISO 8601, \"YYYY-MM-DD HH:MM:SS\" or seconds since 1970")
        }
    }

    private static func time(_ text: String) -> Date? {
        let text = text.replacing(" ", with: "T")
        if let date = instant(text) { return date }
        // Without a time zone it is local time, as `strftime_now` prints it.
        guard let date = instant(text + "Z") else { return nil }
        var seconds = time_t(date.timeIntervalSince1970.rounded(.down))  // ISO 8601's four-digit years fit
        var parts = tm()
        gmtime_r(&seconds, &parts)
        parts.tm_isdst = -1
        return date.addingTimeInterval(Double(mktime(&parts) - seconds))
    }

    /// ISO 8601 with a zone.
    private static func instant(_ text: String) -> Date? {
        let styles = [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)]
        return styles.lazy.compactMap { try? $0.parse(text) }.first
    }
}
