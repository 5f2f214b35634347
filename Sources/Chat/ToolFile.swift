import CommandLineParsing
import Foundation
import FoundationModels
import LocalLLM

/// The tools of `--tools FILE`: a JSON array of objects with `name`, `description`, `parameters` (JSON Schema) and `command`, and
/// optionally `timeout` in seconds.
struct ToolFile {
    /// A tool as the file describes it.
    struct Definition: Sendable {
        let name: String
        let description: String
        let parameters: GenerationSchema
        /// The program and its arguments. An argument `{city}` is replaced by the call's value of that name.
        let command: [String]
        let timeout: Duration
        /// Folder of the tool file: working directory of commands, and base of relative program paths.
        let folder: URL
    }

    private static let mostBytes = 1 << 20
    private static let standardTimeout = 60

    let definitions: [Definition]

    init(reading path: String) throws {
        let file = URL(fileURLWithPath: path)
        let data = try Data(contentsOf: file)
        guard data.count <= Self.mostBytes else {
            throw UsageError("\(path): expected at most \(Self.mostBytes) bytes, found \(data.count)")
        }
        let content = try? GeneratedContent(json: String(decoding: data, as: UTF8.self))
        guard let content, content.isComplete, case .array(let entries) = content.kind, !entries.isEmpty else {
            throw UsageError("\(path): expected a JSON array of tools")
        }
        definitions = try entries.enumerated().map { index, entry in
            try Definition(entry, path: "\(path): [\(index)]", folder: file.deletingLastPathComponent())
        }
        let names = Set(definitions.map(\.name))
        guard names.count == definitions.count else { throw UsageError("\(path): two tools have the same name") }
    }
}

extension ToolFile.Definition {
    /// - Parameter path: Path of the entry, for errors.
    fileprivate init(_ entry: GeneratedContent, path: String, folder: URL) throws {
        guard case .structure(let members, _) = entry.kind else { throw UsageError("\(path): expected an object") }
        if let unknown = members.keys.sorted().first(where: { !Self.members.contains($0) }) {
            throw UsageError("\(path).\(unknown): expected one of \(Self.members.joined(separator: ", "))")
        }
        func text(_ key: String) throws(UsageError) -> String {
            guard case .string(let text)? = members[key]?.kind, !text.isEmpty else {
                throw UsageError("\(path).\(key): expected a text")
            }
            return text
        }
        name = try text("name")
        guard name.wholeMatch(of: /[A-Za-z0-9_-]{1,64}/) != nil else {
            throw UsageError("\(path).name: expected up to 64 letters, digits, _ and -, found '\(name)'")
        }
        description = try text("description")
        self.folder = folder
        guard case .array(let words)? = members["command"]?.kind, !words.isEmpty else {
            throw UsageError("\(path).command: expected an array of texts: a program and its arguments")
        }
        command = try words.enumerated().map { index, word in
            guard case .string(let text) = word.kind, !text.contains("\0") else {
                throw UsageError("\(path).command[\(index)]: expected a text")
            }
            return text
        }
        let schema = members["parameters"]?.jsonString ?? #"{"type": "object", "properties": {}}"#
        do { parameters = try GenerationSchema(jsonSchema: schema) } catch {
            throw UsageError("\(path).parameters: expected a JSON Schema: \(error)")
        }
        switch members["timeout"]?.kind {
        case nil: timeout = .seconds(ToolFile.standardTimeout)
        case .number(let seconds) where (0.1...3600).contains(seconds): timeout = .seconds(seconds)
        default: throw UsageError("\(path).timeout: expected seconds, from 0.1 to 3600")
        }
    }

    private static let members = ["name", "description", "parameters", "command", "timeout"]

    /// The program and its arguments for a call. Each value is exactly one argument, since no shell is involved.
    func words(for arguments: GeneratedContent) -> [String] {
        guard case .structure(let values, _) = arguments.kind else { return command }
        return [command[0]]
            + command.dropFirst().compactMap { word in
                guard let name = word.wholeMatch(of: /\{([^{}]+)\}/)?.1 else { return word }
                guard let value = values[String(name)] else { return nil }
                return if case .string(let text) = value.kind { text } else { value.jsonString }
            }
    }
}

/// A tool of the file.
struct CommandTool: Tool {
    let definition: ToolFile.Definition
    /// Asks for consent, runs the call and shows the result.
    let supervisor: CallSupervisor

    var name: String { definition.name }
    var description: String { definition.description }
    var parameters: GenerationSchema { definition.parameters }

    /// - Returns: The result for the model. A refused or failed call returns an error text instead of throwing, so that
    ///   the model can continue.
    func call(arguments: GeneratedContent) async throws -> String {
        let command = ToolCommand(
            words: definition.words(for: arguments), input: arguments.jsonString, folder: definition.folder,
            timeout: definition.timeout)
        return try await supervisor.run(command, tool: name)
    }
}
