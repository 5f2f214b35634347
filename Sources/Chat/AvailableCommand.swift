import Client
import CommandLineParsing
import Foundation
import FoundationModels
import LocalLLM

extension ScriptCommand {
    static let available = ScriptCommand(
        name: "available", summary: "say which model would answer, and whether it can", synopsis: "[OPTION…]",
        details: """
            Writes a line for each model that chat respond would ask with the same model, server and policy, in that order.
            Nothing is loaded, and a server is not asked. Exits with 0 if one of them can answer, else with 1 and the reason on standard error.
            """,
        ownOptions: [.instructions, .promptImage, .blockedWords]
    ) { arguments, terminal in
        guard arguments.operands.isEmpty else {
            throw UsageError("expected options only, found '\(arguments.operands[0])'")
        }
        let policy = try arguments.choice("--policy", of: FallbackPolicy.self) ?? .localFirst
        let engines: Engines
        do { engines = try await Engines(arguments, terminal, asks: false) } catch {
            terminal.complain("available: \(text(error))")
            return false
        }
        let (lines, canAnswer) = engines.report(policy)
        terminal.write(lines.map { $0 + "\n" }.joined())
        if !canAnswer { terminal.complain("available: no model that --policy \(policy) allows can answer") }
        return canAnswer
    }
}

extension Engines {
    /// A line for each engine of a policy, and whether one of them can answer.
    fileprivate func report(_ policy: FallbackPolicy) -> (lines: [String], canAnswer: Bool) {
        var lines: [String] = []
        var canAnswer = false
        for kind in policy.engines {
            switch kind {
            case .local:
                guard let file, let model else { continue }
                let status = model.status
                let context = model.contextSize > 0 ? ", context of \(model.contextSize) tokens" : ""
                let isAvailable = status.availability == .available
                lines.append(
                    "\(DownloadedModels.name(of: file)): "
                        + (isAvailable ? "available on this machine\(context)" : status.statusMessage))
                canAnswer = canAnswer || isAvailable
            case .cloud:
                guard let cloudName else { continue }
                lines.append("\(cloudName): set up, not asked")
                canAnswer = true
            }
        }
        return (lines, canAnswer)
    }
}
