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
            print(overview)
            return 0
        }
        guard let command = commands.first(where: { $0.name == name }) else {
            complain("unknown command '\(name)'\nSee: bench --help")
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

    static func allOptions(of command: any Command.Type) -> [Option] {
        command.options + command.modelOptions.map(\.option) + [helpOption]
    }

    private static let helpOption = Option("-h", "--help", help: "print this")

    static var overview: String {
        let width = (commands.map { $0.name.count }.max() ?? 0) + 2
        let lines = commands.map {
            "  \($0.name)\(String(repeating: " ", count: width - $0.name.count))\($0.summary)"
        }
        return """
            usage: bench COMMAND [OPTION…]

            \(lines.joined(separator: "\n"))

            bench COMMAND --help lists the options of a command.
            """
    }

    static func help(of command: any Command.Type) -> String {
        """
        usage: bench \(command.name) \(command.synopsis)

        \(command.details)

        \(allOptions(of: command).help)
        """
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
        "-m", "--model", value: "FILE", help: "a GGUF file or a folder of safetensors (default: LOCALLLM_MODEL)")
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
    /// The value of `Option.model`, or else of LOCALLLM_MODEL.
    var model: String {
        get throws(UsageError) {
            if let file = string("--model") { return file }
            guard let file = ProcessInfo.processInfo.environment["LOCALLLM_MODEL"], !file.isEmpty else {
                throw UsageError("--model is missing, and LOCALLLM_MODEL is not set")
            }
            return file
        }
    }
}
