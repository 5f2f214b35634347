import CommandLineParsing
import Foundation
import LocalLLM

/// Measures and inspects models, and measures servers. Scripts rely on the commands, their options and their output.
@main
enum Bench {
    static let commands: [any Command.Type] = [
        SpeedCommand.self, ProfileCommand.self, CompareCommand.self, ServeCommand.self, MachineCommand.self,
        KernelsCommand.self,
        PerplexityCommand.self, ArchitecturesCommand.self, LogitsCommand.self, EmbedCommand.self, ImageCommand.self,
        TokenizeCommand.self, DetokenizeCommand.self, TemplateCommand.self, ToolsCommand.self, GenerateCommand.self,
        ConstrainCommand.self, OverheadCommand.self, DraftsCommand.self, DecideCommand.self, PrefixCommand.self,
        ConvertCommand.self,
        QuantizeCommand.self,
        ImatrixCommand.self,
    ]

    static func main() async {
        exit(await run(Array(CommandLine.arguments.dropFirst())))
    }

    /// - Returns: The exit code: 0 success, 1 failure, 2 usage error.
    static func run(_ arguments: [String]) async -> Int32 {
        guard let name = arguments.first else {
            complain("expected a command\nSee: bench --help")
            return 2
        }
        if ["--help", "-h", "help"].contains(name) {
            print(overview())
            return 0
        }
        guard let command = commands.first(where: { $0.name == name }) else {
            let near = nearestWord(to: name, in: commands.map { $0.name }).map { "; did you mean \($0)?" } ?? ""
            complain("unknown command '\(name)'\(near)\nSee: bench --help")
            return 2
        }
        return await run(command, Array(arguments.dropFirst()))
    }

    private static func run(_ command: any Command.Type, _ arguments: [String]) async -> Int32 {
        do {
            let parsed = try Arguments(
                arguments, options: allOptions(of: command), takesOperands: command.takesOperands)
            if parsed.has("--help") {
                print(help(of: command))
                return 0
            }
            return try await command.init(parsed).run() ? 0 : 1
        } catch let error as UsageError {
            complain("\(command.name): \(error)\nSee: bench \(command.name) --help")
            return 2
        } catch let error as any LocalizedError {
            complain("\(command.name): \(error.errorDescription ?? "\(error)")")
        } catch {
            complain("\(command.name): \(error)")
        }
        return 1
    }

    static func allOptions(of command: any Command.Type) -> [Option] { groups(of: command).options }

    private static func groups(of command: any Command.Type) -> [OptionGroup] {
        [
            OptionGroup("What is measured and shown", command.options),
            OptionGroup("How the model is loaded", command.modelOptions.map(\.option)),
            OptionGroup("Help", [helpOption]),
        ]
    }

    private static let helpOption = Option("-h", "--help", help: "print this")

    static func overview(width columns: Int = helpWidth) -> String {
        let width = (commands.map { $0.name.count }.max() ?? 0) + 2
        let lines = commands.map {
            "  \($0.name)\(String(repeating: " ", count: width - $0.name.count))"
                + $0.summary.wrapped(to: columns, indent: width + 2)
        }
        return """
            usage: bench COMMAND [OPTION…]

            \(lines.joined(separator: "\n"))

            bench COMMAND --help lists the options of a command.
            """
    }

    static func help(of command: any Command.Type, width: Int = helpWidth) -> String {
        """
        usage: bench \(command.name) \(command.synopsis)

        \(command.details)
        """.filled(to: width) + "\n\n" + groups(of: command).help(width: width)
    }

    private static func complain(_ message: String) { printToStandardError("bench: \(message)") }
}

/// A command of `bench`.
protocol Command: Sendable {
    static var name: String { get }
    /// One line for the overview.
    static var summary: String { get }
    /// Arguments, for the usage line.
    static var synopsis: String { get }
    /// Description of input and output, for the help.
    static var details: String { get }
    static var options: [Option] { get }
    /// Which of the options of loading a model it takes.
    static var modelOptions: [ModelOption] { get }
    /// Whether the command takes operands.
    static var takesOperands: Bool { get }

    init(_ arguments: Arguments) throws(UsageError)
    /// - Returns: Whether everything succeeded.
    func run() async throws -> Bool
}

extension Command {
    static var modelOptions: [ModelOption] { [] }
    static var takesOperands: Bool { false }
}

extension Option {
    static let model = Option(
        "-m", "--model", value: "FILE", default: "LOCALLLM_MODEL, else the only downloaded model",
        help: "a GGUF file, a folder of safetensors, or a part of a downloaded model's name")
    static let image = Option("--image", value: "FILE", repeats: true, help: "a PNG, JPEG, WebP or GIF file")
}

extension LocalModel {
    /// Loads a model, showing progress on a terminal.
    static func load(_ path: String, _ configuration: Configuration) async throws -> LocalModel {
        defer { showProgress("") }
        return try await load(from: URL(fileURLWithPath: path), configuration: configuration) { fraction in
            showProgress("loading \(Int(fraction * 100)) %")
        }
    }
}

extension Arguments {
    /// The file that `Option.model` names, or LOCALLLM_MODEL, or the only downloaded model.
    var model: String {
        get throws(UsageError) {
            let environment = ProcessInfo.processInfo.environment
            let downloaded = DownloadedModels(environment)
            let variable = environment["LOCALLLM_MODEL"].flatMap { $0.isEmpty ? nil : $0 }
            if let name = string("--model") ?? variable { return try downloaded.url(of: name).path }
            return try downloaded.only().path
        }
    }
}
