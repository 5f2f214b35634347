import CommandLineParsing
import Foundation
import LocalLLM

/// A model on disk: a file, the first part of a split file, or a folder.
package struct ModelFile: Sendable {
    let url: URL
    /// The id in responses: the first alias, or else the file name without extension and part number.
    package let id: String
    /// Other names that clients may send. `general.name` of the file is not among them.
    private let otherNames: [String]
    /// The file's metadata, or why it cannot be read.
    let info: Result<LocalModel.Info, ModelFileError>
    /// Unix seconds: when the file was last changed.
    let created: Int
    private let version: Version

    /// Size and modification time: different if the file was changed.
    private struct Version: Equatable {
        var size: Int?
        var changed: Date?

        init(_ url: URL) {
            let attributes = try? FileManager.default.attributesOfItem(atPath: url.path)
            size = attributes?[.size] as? Int
            changed = attributes?[.modificationDate] as? Date
        }
    }

    /// - Parameters:
    ///   - aliases: Names given with `--alias`; the first one becomes `id`.
    ///   - known: The earlier value for this file; its `info` is reused if the file has not changed.
    init(_ url: URL, aliases: [String] = [], known: ModelFile? = nil) {
        self.url = url
        let fileName = url.lastPathComponent
        // A folder's name has no extension: "Qwen3-0.6B".
        let stem = url.hasDirectoryPath ? fileName : url.deletingPathExtension().lastPathComponent
        let names = aliases + [DownloadedModels.name(of: url), stem, fileName]
        id = names[0]
        otherNames = Array(names.dropFirst())
        version = Version(url)
        created = Int((version.changed ?? Date()).timeIntervalSince1970)
        if let known, known.version == version {
            info = known.info
        } else {
            info = Result { () throws(ModelFileError) in try LocalModel.info(of: url) }
        }
    }

    func isSame(as other: ModelFile) -> Bool { url == other.url && version == other.version }

    func isCalled(_ name: String) -> Bool { ([id] + otherNames).contains { $0.hasSameBytes(as: name) } }

    /// Whether `general.name` is this name. Quantizations of one model may share it.
    func isTitled(_ name: String) -> Bool { (try? info.get().name.hasSameBytes(as: name)) ?? false }
}

extension String {
    /// Compares bytes. Swift's `==` compares canonically equivalent characters as equal.
    func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
