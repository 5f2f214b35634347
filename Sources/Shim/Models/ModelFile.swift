import Foundation
import LocalLLM

/// A model as it lies on the disk: one file, or the first part of a split one.
struct ModelFile: Sendable {
    let url: URL
    /// What clients are told: the alias, or else the file's name without its extension and number of the part.
    let id: String
    /// What else clients may call it; `general.name` of the file is not among them.
    private let otherNames: [String]
    /// What the file says of itself, or why it cannot be read.
    let info: Result<LocalModel.Info, ModelFileError>
    /// Unix seconds: when the file was last changed.
    let created: Int
    private let version: Version

    /// Changes when the file does.
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
    ///   - aliases: Names that its owner gave it; the first becomes its id.
    ///   - known: The same file as it was read before: it is read again only if it has changed.
    init(_ url: URL, aliases: [String] = [], known: ModelFile? = nil) {
        self.url = url
        let fileName = url.lastPathComponent
        // A folder's name has no extension: "Qwen3-0.6B".
        let stem = url.hasDirectoryPath ? fileName : url.deletingPathExtension().lastPathComponent
        let names = aliases + [SplitName(fileName)?.stem ?? stem, stem, fileName]
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

    /// `general.name`, which the versions of a model may share.
    func isTitled(_ name: String) -> Bool { (try? info.get().name.hasSameBytes(as: name)) ?? false }
}

extension String {
    /// Swift's `==` also takes different bytes that look alike.
    func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
