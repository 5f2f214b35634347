package import JSON
import Foundation

/// A model folder as Hugging Face's libraries save it: `config.json`, weights in one or more safetensors files, and the
/// tokenizer's files.
package struct SafetensorsFolder {
    /// Maximum size of a JSON file in bytes. Vocabularies of 260,000 tokens take 33 MB.
    static let maximumJSON = 256 << 20

    let path: String
    let config: JSON
    /// All tensors by name.
    let tensors: [String: SafetensorsTensor]
    /// The files with weights.
    let files: [MappedFile]

    package static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    init(path: String) throws(ModelFileError) {
        let trimmed = path.utf8.count > 1 && path.utf8.last == UInt8(ascii: "/") ? String(path.dropLast()) : path
        self.path = trimmed
        guard let config = try Self.json("config.json", in: trimmed) else {
            throw ModelFileError(
                .unreadable,
                "This folder is not a model: 'config.json' is missing. Expected a GGUF file, or a folder with 'config.json' and "
                    + "safetensors files.", path: trimmed)
        }
        self.config = config
        var tensors: [String: SafetensorsTensor] = [:]
        var files: [MappedFile] = []
        let index = try Self.json("model.safetensors.index.json", in: trimmed).map { json throws(ModelFileError) in
            try Self.weightMap(json, in: trimmed)
        }
        for name in try Self.weightFiles(index, in: trimmed) {
            let file = try SafetensorsFile(path: trimmed + "/" + name)
            files.append(file.file)
            for tensor in file.tensors {
                if let index, index[tensor.name] != name {
                    throw ModelFileError(
                        .badSplit,
                        "Tensor '\(tensor.name)' is in this file; by 'model.safetensors.index.json' it is in "
                            + (index[tensor.name].map { "'\($0)'" } ?? "none") + ".", path: file.file.path)
                }
                guard tensors.updateValue(tensor, forKey: tensor.name) == nil else {
                    throw ModelFileError(
                        .malformed, "Duplicate tensor '\(tensor.name)'.", path: file.file.path)
                }
            }
        }
        if let missing = index?.keys.filter({ tensors[$0] == nil }).min() {
            throw ModelFileError(
                .missingTensor, "Tensor '\(missing)' must be in '\(index?[missing] ?? "")', but is not.", path: trimmed)
        }
        self.tensors = tensors
        self.files = files
    }

    /// A JSON file in the folder; `nil` if it does not exist.
    func json(_ name: String) throws(ModelFileError) -> JSON? { try Self.json(name, in: path) }

    /// The files with chat templates: `chat_template.jinja`, and others by name in `additional_chat_templates`.
    func templateFiles() -> [(name: String, file: String)] {
        let inner = "additional_chat_templates"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path + "/" + inner)) ?? []
        let others = names.sorted().filter { $0.hasSuffix(".jinja") }.map { (String($0.dropLast(6)), "\(inner)/\($0)") }
        return [("default", "chat_template.jinja")] + others
    }

    /// The bytes of a file in the folder; `nil` if it does not exist.
    func contents(_ name: String) throws(ModelFileError) -> [UInt8]? { try Self.contents(name, in: path) }

    static func contents(_ name: String, in folder: String) throws(ModelFileError) -> [UInt8]? {
        let path = folder + "/" + name
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let file = try MappedFile(path: path)
        guard file.byteCount <= maximumJSON else {
            throw ModelFileError(
                .unsupported, "The file has \(file.byteCount) bytes; at most \(maximumJSON) are read.", path: path)
        }
        return Array(file.bytes)
    }

    package static func json(_ name: String, in folder: String) throws(ModelFileError) -> JSON? {
        guard let bytes = try contents(name, in: folder) else { return nil }
        do {
            let json = try JSON(parsing: bytes, .modelFiles)
            if json.object != nil { return json }
            throw ModelFileError(
                .malformed, "The file must hold a JSON object, but holds \(json.kind).", path: folder + "/" + name)
        } catch let failure as JSON.SyntaxError {
            throw ModelFileError(
                .malformed, "The file is not JSON: \(failure.message).", path: folder + "/" + name,
                byteOffset: failure.offset)
        } catch let error as ModelFileError {
            throw error
        } catch {
            throw ModelFileError(.malformed, "\(error)", path: folder + "/" + name)
        }
    }

    /// Reads the name of each tensor's file from the index.
    private static func weightMap(_ index: JSON, in folder: String) throws(ModelFileError) -> [String: String] {
        let path = folder + "/model.safetensors.index.json"
        guard let members = index["weight_map"]?.object?.members else {
            throw ModelFileError(.malformed, "There is no object 'weight_map'.", path: path)
        }
        var map: [String: String] = [:]
        for (name, value) in members {
            // A name with a separator could lead out of the folder.
            guard let file = value.string, !file.isEmpty, !file.contains("/"), file != "..", !file.contains("\0") else {
                throw ModelFileError(
                    .malformed, "'weight_map' must give the name of a file in this folder for '\(name)'.", path: path)
            }
            map[name] = file
        }
        return map
    }

    private static func weightFiles(_ index: [String: String]?, in folder: String) throws(ModelFileError) -> [String] {
        if let index {
            let names = Set(index.values).sorted()
            if let missing = names.first(where: { !FileManager.default.fileExists(atPath: folder + "/" + $0) }) {
                throw ModelFileError(
                    .badSplit, "The weights are in \(names.count) files, of which '\(missing)' is missing.",
                    path: folder)
            }
            return names
        }
        let all = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
        if all.contains("model.safetensors") { return ["model.safetensors"] }
        let names = all.filter { $0.hasSuffix(".safetensors") && $0.hasPrefix("model") }
        if let match = names.first?.wholeMatch(of: /.+-[0-9]{5}-of-([0-9]{5})\.safetensors/),
            let count = Int(match.1), count != names.count
        {
            throw ModelFileError(
                .badSplit, "The weights must be in \(count) files, but there are \(names.count).", path: folder)
        }
        guard !names.isEmpty else {
            let hasPickle = all.contains { $0.hasSuffix(".bin") || $0.hasSuffix(".pth") }
            throw ModelFileError(
                .unreadable,
                "There is no 'model.safetensors' in this folder"
                    + (hasPickle
                        ? ", only weights in PyTorch's own format, which can hold programs and is not read." : "."),
                path: folder)
        }
        return names
    }
}

extension JSON {
    /// The bytes of a string.
    var utf8: [UInt8]? { string.map { Array($0.utf8) } }
}

extension JSON.Limits {
    /// Files that belong to a model. Their size is bounded before they are read.
    static let modelFiles = JSON.Limits(depth: 200)
}
