import CommandLineParsing
import Foundation
import LocalLLM

/// `shim list`: the models in a folder and their state.
struct ModelListing {
    private let directory: URL

    init(_ directory: URL) { self.directory = directory }

    /// One line per model, below a header.
    var text: String {
        let rows = ModelFolder.models(in: directory).map { row(ModelFile($0)) } + imageEncoders + unfinished
        guard !rows.isEmpty else { return "no models in \(directory.path)" }
        return table([["NAME", "SIZE", "ARCHITECTURE", "QUANTIZATION", "STATE"]] + rows)
    }

    private func row(_ model: ModelFile) -> [String] {
        switch model.info {
        case .success(let info): [model.id, size(info.fileBytes), info.architecture, info.quantization, "ready"]
        case .failure(let error): [model.id, size(bytes(model.url)), "-", "-", error.message]
        }
    }

    private var imageEncoders: [[String]] {
        ModelFolder.imageEncoders(in: directory).map { url in
            [url.deletingPathExtension().lastPathComponent, size(bytes(url)), "-", "-", "image encoder, for --mmproj"]
        }
    }

    /// Incomplete downloads.
    private var unfinished: [[String]] {
        ModelFolder.unfinished(in: directory).map { model in
            let size = size(bytes(model.appendingPathExtension("part")))
            return [model.lastPathComponent, size, "-", "-", "incomplete; resume with shim pull"]
        }
    }

    private func bytes(_ url: URL) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int) ?? 0
    }
}

/// `shim rm`: removes a model with all its parts and incomplete downloads.
///
/// - Returns: Names of the removed files.
/// - Throws: `PullError` if there is no such model, or a file cannot be removed.
func removeModel(_ name: String, in directory: URL) throws -> [String] {
    let all = names(in: directory).sorted()
    // Whole folders of safetensors, and incomplete ones.
    let whole = ModelFolder.models(in: directory).filter(\.hasDirectoryPath).map(\.lastPathComponent)
    let folders = whole + all.filter { $0.hasSuffix(".part") && isFolder(directory.appendingPathComponent($0)) }
    // `name` is only compared with names in the folder, so no path can lead out of it.
    let doomed = all.filter { file in
        let model =
            [".part.etag", ".part"].first { file.utf8.suffix($0.utf8.count).elementsEqual($0.utf8) }
            .map { String(file.dropLast($0.count)) } ?? file
        guard model.utf8.suffix(5).elementsEqual(".gguf".utf8) else {
            return folders.contains(file) && [name, name + ".part"].contains { $0.hasSameBytes(as: file) }
        }
        let stem = String(model.dropLast(5))
        return [model, stem, SplitName(model)?.stem ?? stem].contains { $0.hasSameBytes(as: name) }
    }
    guard !doomed.isEmpty else {
        throw PullError("\(DownloadedModels(in: directory).missing(name))")
    }
    for file in doomed {
        let url = directory.appendingPathComponent(file)
        if folders.contains(file) {
            do { try FileManager.default.removeItem(at: url) } catch {
                throw PullError("\(file) cannot be removed: \(error.localizedDescription)")
            }
        } else {
            guard unlink(url.path) == 0 else {
                throw PullError("\(file) cannot be removed: \(String(cString: strerror(errno))).")
            }
        }
    }
    return doomed
}

private func names(in directory: URL) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
}

private func isFolder(_ url: URL) -> Bool {
    (try? url.resourceValues(forKeys: [.isDirectoryKey]).isDirectory) ?? false
}
