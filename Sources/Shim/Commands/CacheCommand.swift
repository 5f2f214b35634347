import CommandLineParsing
import Foundation
import LocalLLM

/// `shim cache`: lists and removes what was kept of prompts.
enum CacheCommand {
    static let options = [
        Option(
            "--cache-dir", value: "DIR", help: "folder of the kept prompts (default: the user's cache folder)"),
        Option("--older-than", value: "DAYS", help: "clear only what was not used for so many days"),
    ]

    /// - Parameter words: Nothing, or `clear` and perhaps a model's name.
    /// - Returns: Text for the user.
    static func run(_ arguments: Arguments, environment: [String: String]) throws -> String {
        let folder =
            arguments.string("--cache-dir").map { URL(fileURLWithPath: $0) }
            ?? LocalModel.Configuration.cacheFolder(environment)
        let days = try arguments.int("--older-than", in: 0...36_500)
        let words = arguments.operands
        guard words.isEmpty || words[0] == "clear" && words.count <= 2 else {
            throw UsageError("expected: shim cache [clear [MODEL]]")
        }
        guard !words.isEmpty || days == nil else { throw UsageError("--older-than: expected with 'clear'") }
        let models = KeptPrompts.models(in: folder)
        guard !words.isEmpty else { return list(models, folder) }
        let chosen = models.filter { words.count < 2 || $0.name == words[1] || $0.id == words[1] }
        guard words.count < 2 || !chosen.isEmpty else {
            throw UsageError("no prompts of a model '\(words[1])' in \(folder.path); `shim cache` lists the models")
        }
        let limit = days.map { Date.now.addingTimeInterval(-86_400 * Double($0)) } ?? .distantFuture
        let removed = try chosen.map { try $0.clear(before: limit) }.reduce(0, +)
        return "removed \(size(removed))"
    }

    private static func list(_ models: [KeptPrompts], _ folder: URL) -> String {
        guard !models.isEmpty else { return "No prompts are kept in \(folder.path)" }
        var rows = [["MODEL", "ID", "SIZE", "LAST USE"]]
        for model in models {
            rows.append([
                model.name, model.id, size(model.bytes),
                model.lastUse.map { $0.formatted(.iso8601.year().month().day()) } ?? "",
            ])
        }
        return table(rows) + "\n\(size(models.reduce(0) { $0 + $1.bytes })) in \(folder.path)"
    }
}
