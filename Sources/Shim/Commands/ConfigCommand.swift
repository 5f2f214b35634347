import CommandLineParsing
import Foundation
import LocalLLM

/// `shim config check FILE`: what a server with this configuration file would serve, without loading any weights.
///
/// - Throws: `InvalidConfiguration` with all that a server would refuse.
func checkConfiguration(_ file: String, _ gateway: Gateway, environment: [String: String]) throws -> String {
    do {
        let options = try Options(
            Arguments(["--config", file], options: Options.all(gateway)), gateway, environment: environment)
        let store = try ModelStore(options)
        var text = table(options.rows)
        for model in store.models { text += "\n\n" + table(try options.rows(of: model.file)) }
        return text
    } catch let error as UsageError {
        throw InvalidConfiguration(description: error.description)
    } catch let error as ModelFileError {
        throw InvalidConfiguration(description: "\(error)")
    }
}

/// Why a server would not start with a configuration file.
struct InvalidConfiguration: Error, CustomStringConvertible {
    let description: String
}

extension Options {
    /// The options of the server: name, value, where it comes from.
    fileprivate var rows: [[String]] {
        (file?.options ?? []).compactMap { option in
            let texts = arguments.strings(option.names.last!)
            guard !texts.isEmpty || option.default != nil else { return nil }
            let value = option.value == nil ? "true" : texts.joined(separator: ", ")
            return [
                option.key, texts.isEmpty ? option.default! : value,
                texts.isEmpty ? "default" : file?.place(of: option.key) ?? "command line",
            ]
        }
    }

    /// The settings of a model.
    fileprivate func rows(of file: ModelFile) throws -> [[String]] {
        let settings = models.settings(of: file.url)
        let places = models.places[ModelCatalog.key(file.url)] ?? [:]
        func place(_ key: String) -> String { places[key] ?? self.file?.place(of: key) ?? "default" }
        let aliases = models.aliases.filter { $0.isOf(file) }.map(\.name)
        var rows = [["model \(file.id)", file.url.path, places["file"] ?? "models_dir"]]
        if !aliases.isEmpty { rows.append(["  aliases", aliases.joined(separator: ", "), place("aliases")]) }
        rows.append(["  pinned", "\(settings.isPinned)", place("pinned")])
        for setting in ModelOption.all {
            let value = setting.text(settings.configuration) ?? setting.option.default ?? "none"
            rows.append(["  \(setting.key)", value, place(setting.key)])
        }
        for setting in SamplingOption.recommended {
            guard let value = setting.text(settings.configuration.sampling) else { continue }
            rows.append(["  sampling.\(setting.key)", value, place("sampling.\(setting.key)")])
        }
        do {
            let estimate = try LocalModel.estimate(of: file.url, configuration: settings.configuration)
            rows.append([
                "  memory", size(estimate.total),
                estimate.fits ? "fits now" : "only \(size(estimate.available)) are free",
            ])
        } catch {
            rows.append(["  memory", "unknown", "\(error)"])
        }
        return rows
    }
}

extension Setting {
    /// The value as text; `nil` if there is none.
    fileprivate func text(_ target: Target) -> String? {
        switch kind {
        case .count(_, let path): target[keyPath: path].map { "\($0)" }
        case .number(_, let path): target[keyPath: path].map { ConfigNode.text($0) }
        case .flag(let path): "\(target[keyPath: path])"
        case .file(let path), .folder(let path): target[keyPath: path]?.path
        case .size(let path): target[keyPath: path].map { "\($0) bytes" }
        case .name(_, let get, _): get(target)
        case .adapters(let path):
            target[keyPath: path].isEmpty
                ? nil
                : target[keyPath: path].map { "\($0.url.path):\(ConfigNode.text($0.scale))" }.joined(separator: ", ")
        }
    }
}
