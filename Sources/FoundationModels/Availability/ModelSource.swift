import Foundation
import GGUF
import LocalLLM

/// Which file holds a model. It is looked up repeatedly, since files come and go.
enum ModelSource: Sendable {
    case file(URL)
    /// The file that `LOCALLLM_MODEL` names, else the first downloaded one.
    case standard(environment: [String: String])

    /// The result of a lookup.
    enum Finding {
        case file(URL, FileVersion)
        /// A partial download.
        case part(URL)
        /// Names the places that were searched, for a user.
        case nothing(String)
    }

    func find() -> Finding {
        switch self {
        case .file(let url): return look(for: url) ?? .nothing("No such file: \(url.path)")
        case .standard(let environment):
            if let path = environment["LOCALLLM_MODEL"], !path.isEmpty {
                let url = URL(fileURLWithPath: path)
                return look(for: url) ?? .nothing("LOCALLLM_MODEL: no such file: \(url.path)")
            }
            let folder = ModelFolder.standard(environment)
            let candidates = ModelFolder.models(in: folder) + ModelFolder.unfinished(in: folder)
            return candidates.lazy.compactMap(look).first
                ?? .nothing(
                    "No model in \(folder.path). Download one with `shim pull`, or name a file in LOCALLLM_MODEL.")
        }
    }

    private func look(for url: URL) -> Finding? {
        if let version = FileVersion(url) { return .file(url, version) }
        let part = url.appendingPathExtension("part")
        return FileVersion(part).map { _ in .part(part) }
    }
}

/// Identifies a version of a file by inode number, size and modification date.
struct FileVersion: Equatable, Sendable {
    private let path: String
    private let number: UInt64
    let size: Int
    private let changed: Date

    /// `nil` if there is no such file.
    init?(_ url: URL) {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: url.path),
            let size = attributes[.size] as? Int, let changed = attributes[.modificationDate] as? Date
        else { return nil }
        path = url.path
        number = attributes[.systemFileNumber] as? UInt64 ?? 0
        self.size = size
        self.changed = changed
    }
}

/// Tracks the progress of a download by the size of the growing file.
struct DownloadWatch: Sendable {
    /// Most bytes of the header to parse: vocabularies of large models take some megabytes.
    private static let longestBeginning = 64 << 20

    private var part: URL?
    private var bytes = 0
    private var totalBytes: Int?
    /// File size at which to parse the header again; doubles after each failure.
    private var nextAttempt = 0

    mutating func status(of url: URL) -> SystemLanguageModel.Status.Download {
        let bytes = FileVersion(url)?.size ?? 0
        // Another download, or this one started over.
        if part != url || bytes < self.bytes { (part, totalBytes, nextAttempt) = (url, nil, 0) }
        self.bytes = bytes
        if totalBytes == nil, bytes >= nextAttempt {
            nextAttempt = 2 * bytes
            totalBytes = Self.totalBytes(of: url)
        }
        return .init(bytes: bytes, totalBytes: totalBytes)
    }

    /// Size of the whole file by its header, which is copied: mapped memory of a shrinking file must not be touched.
    private static func totalBytes(of part: URL) -> Int? {
        guard let handle = try? FileHandle(forReadingFrom: part) else { return nil }
        defer { try? handle.close() }
        guard let data = try? handle.read(upToCount: longestBeginning),
            let beginning = try? MappedFile(path: part.path, contents: Array(data))
        else { return nil }
        return try? GGUFPart.expectedByteCount(beginning)
    }
}
