public import Foundation
import LocalLLM

/// The models in a folder, found by any part of their names that leaves no choice.
public struct DownloadedModels: Sendable {
    public let directory: URL
    /// Files, first parts of split files, and folders of safetensors, sorted by name.
    public let models: [URL]

    public init(in directory: URL) {
        (self.directory, models) = (directory, ModelFolder.models(in: directory))
    }

    /// The folder that `shim pull` fills.
    public init(_ environment: [String: String]) { self.init(in: ModelFolder.standard(environment)) }

    /// File name without extension and part number.
    public static func name(of model: URL) -> String {
        let file = model.lastPathComponent
        if model.hasDirectoryPath { return file }
        return SplitName(file)?.stem ?? model.deletingPathExtension().lastPathComponent
    }

    /// The model that a text means: a path, or a name or part of one, in any case and with any punctuation.
    ///
    /// - Throws: `UnknownModel`, with the names that it could be.
    public func find(_ text: String) throws(UnknownModel) -> URL {
        guard !text.isEmpty else { throw missing(text) }
        let path = URL(fileURLWithPath: (text as NSString).expandingTildeInPath)
        let exists = [path, path.appendingPathExtension("part")].contains {
            FileManager.default.fileExists(atPath: $0.path)
        }
        if exists || Self.isPath(text) { return path }
        if let exact = models.first(where: { [$0.lastPathComponent, Self.name(of: $0)].contains(text) }) {
            return exact
        }
        let key = Self.key(text)
        guard !key.isEmpty else { throw missing(text) }
        let keys = models.map { Self.key(Self.name(of: $0)) }
        var found = zip(models, keys).filter { $0.1 == key }.map(\.0)
        if found.isEmpty { found = zip(models, keys).filter { $0.1.contains(key) }.map(\.0) }
        // The title in the file, which need not be like the file's name.
        if found.isEmpty {
            found = models.filter { url in
                (try? LocalModel.info(of: url)).map { Self.key($0.name).contains(key) } ?? false
            }
        }
        guard let model = found.first else { throw missing(text) }
        guard found.count == 1 else { throw .ambiguous(text, found.map { Self.name(of: $0) }) }
        return model
    }

    /// Like `find`, for a command line.
    public func url(of text: String) throws(UsageError) -> URL {
        do { return try find(text) } catch { throw UsageError(error.description) }
    }

    /// The model to use where none is named.
    ///
    /// - Throws: `UsageError` where there is none, or a choice.
    public func only() throws(UsageError) -> URL {
        guard let model = models.first else {
            throw UsageError("no model: give --model FILE, or download one. \(KnownModel.advice())")
        }
        guard models.count == 1 else {
            throw UsageError(
                "--model is missing, and there are several: " + models.map { Self.name(of: $0) }.joined(separator: ", ")
            )
        }
        return model
    }

    /// The error for a text that names no model, with names that contain something like it.
    public func missing(_ text: String) -> UnknownModel {
        let key = Self.key(text)
        let distances = models.map { model in
            let name = Self.name(of: model)
            return (name: name, edits: edits(from: key, to: Self.key(name), anywhere: true))
        }
        let near = key.isEmpty ? [] : distances.filter { $0.edits <= mostEdits(key) }
        return .missing(text, near: near.sorted { $0.edits < $1.edits }.prefix(5).map(\.name), in: directory)
    }

    /// Whether a text can only be a path.
    private static func isPath(_ text: String) -> Bool {
        ["/", "./", "../", "~"].contains { text.hasPrefix($0) }
            || text.contains("/") && text.lowercased().hasSuffix(".gguf")
    }

    /// The letters and digits of a name, in lower case: without the owner, the extension, and what repositories add.
    private static func key(_ name: String) -> String {
        var name = name.lowercased()
        if let slash = name.lastIndex(of: "/") { name = String(name[name.index(after: slash)...]) }
        if name.hasSuffix(":latest") { name.removeLast(7) }
        name = name.replacing("-gguf", with: "").replacing(".gguf", with: "")
        return String(name.filter { $0.isLetter || $0.isNumber })
    }
}

/// Why a text names no model.
public enum UnknownModel: Error, CustomStringConvertible {
    /// - Parameter near: Names that are similar.
    case missing(String, near: [String], in: URL)
    case ambiguous(String, [String])

    public var isMissing: Bool { if case .missing = self { true } else { false } }

    public var description: String {
        switch self {
        case .missing(let name, let near, let directory):
            var text = "No such file: \(name), and no model in \(directory.path) has that in its name."
            if !near.isEmpty { text += " Similar: \(near.joined(separator: ", "))." }
            if let known = KnownModel.named(name) { text += " `shim pull \(name)` downloads it (\(known.summary))." }
            if near.isEmpty, KnownModel.named(name) == nil { text += " `shim list` shows the models that are there." }
            return text
        case .ambiguous(let name, let names):
            return "'\(name)' is in the names of several models: \(names.joined(separator: ", "))."
        }
    }
}

/// The folder with the data that the programs keep for the user: `localllm` in `$XDG_DATA_HOME` or `~/.local/share`.
public func dataFolder(_ environment: [String: String]) -> URL { DataFolder.url(environment) }
