import CommandLineParsing
import LocalLLM

/// Lists the supported architectures, as in docs/models.md.
struct ArchitecturesCommand: Command {
    static let name = "architectures"
    static let summary = "list the supported model architectures"
    static let synopsis = "[--markdown]"
    static let details = """
        Prints a line of JSON per architecture: {"name": "…", "kinds": ["…"], "checked": "…"}. "checked" says how its results were compared:
        "reference data" in the test suite, "llama.cpp" with that engine on tiny random models.
        """
    static let options: [Option] = [Option("--markdown", help: "print the table of docs/models.md")]

    let isMarkdown: Bool

    init(_ arguments: Arguments) throws(UsageError) { isMarkdown = arguments.has("--markdown") }

    struct Line: Encodable { let name: String, kinds: [String], checked: String }

    func run() async throws -> Bool {
        guard !isMarkdown else {
            print(Self.table)
            return true
        }
        for architecture in Architecture.all {
            try printJSON(
                Line(
                    name: architecture.name, kinds: architecture.kinds.map(\.rawValue),
                    checked: architecture.check.rawValue))
        }
        return true
    }

    static var table: String {
        markdownTable(
            ["`general.architecture`", "kinds of model", "checked with"],
            Architecture.all.map {
                ["`\($0.name)`", $0.kinds.map(\.rawValue).joined(separator: ", "), $0.check.rawValue]
            }, leftAligned: [0, 1, 2])
    }
}
