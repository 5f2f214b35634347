import CommandLineParsing
import Foundation
import LocalLLM

/// The file of `--config`: options of the server, by the names of the command line with `_` for `-`, and `models`, each
/// with its own settings.
struct ConfigFile: Sendable {
    /// An element of `models`.
    struct Model: Sendable {
        var url: URL
        var aliases: [String] = []
        var settings: ModelSettings
        /// The place of each key that the file gives.
        var places: [String: String] = [:]
    }

    /// Options that are keys of the file. The others concern one model, or the call of the program.
    let options: [Option]

    /// Keys of an element of `models`.
    static let modelKeys = ["file", "aliases", "pinned", "sampling"] + ModelOption.all.map(\.key)

    private let members: [(name: String, node: ConfigNode)]

    init(path: String, _ gateway: Gateway = .none) throws(UsageError) {
        let others =
            [ModelOption.imageEncoder, .draft, .adapters].map(\.option.key)
            + ["model", "alias", "config", "version", "help"]
        options = Options.all(gateway).filter { !others.contains($0.key) }
        members = try ConfigNode(file: path).members(options.map(\.key) + ["models"])
        // Errors of values must not depend on whether the command line overrides them.
        var arguments = try Arguments([String](), options: options)
        try setDefaults(of: &arguments)
    }

    /// The place of an option that the file gives.
    func place(of key: String) -> String? { members.first { $0.name == key }?.node.path }

    /// Gives options the file's values where the command line has none.
    func setDefaults(of arguments: inout Arguments) throws(UsageError) {
        for option in options {
            guard let node = members.first(where: { $0.name == option.key })?.node else { continue }
            guard let texts = try node.texts(of: option) else { continue }
            arguments.setDefault(option.names.last!, texts, from: "\(node.file): \(node.path)")
        }
    }

    /// The models of the file.
    ///
    /// - Parameter defaults: Settings that the file does not give for a model.
    func models(_ defaults: ModelSettings) throws(UsageError) -> [Model] {
        guard let node = members.first(where: { $0.name == "models" })?.node else { return [] }
        var models: [Model] = []
        for element in try node.elements() {
            let model = try Self.model(element, defaults)
            if let index = models.firstIndex(where: { $0.url.path == model.url.path }) {
                throw element.error("the same file as models[\(index)]")
            }
            for alias in model.aliases {
                guard let index = models.firstIndex(where: { $0.aliases.contains { $0.hasSameBytes(as: alias) } })
                else { continue }
                throw element.error("alias '\(alias)' is already an alias of models[\(index)]")
            }
            models.append(model)
        }
        return models
    }

    private static func model(_ node: ConfigNode, _ defaults: ModelSettings) throws(UsageError) -> Model {
        let members = try node.members(modelKeys)
        guard let file = members.first(where: { $0.name == "file" }) else { throw node.error("'file' is missing") }
        var model = Model(url: try file.node.existingURL(), settings: defaults)
        for (name, node) in members {
            model.places[name] = node.path
            switch name {
            case "file": break
            case "aliases": for alias in try node.elements() { model.aliases.append(try alias.string()) }
            case "pinned": model.settings.isPinned = try node.bool()
            case "sampling":
                for (name, value) in try node.members(SamplingOption.recommended.map(\.key)) {
                    model.places["sampling.\(name)"] = value.path
                    let setting = SamplingOption.recommended.first { $0.key == name }!
                    try value.apply(setting, to: &model.settings.configuration.sampling)
                }
            default:
                let setting = ModelOption.all.first { $0.key == name }!
                try node.apply(setting, to: &model.settings.configuration)
            }
        }
        return model
    }
}
