import Foundation

/// A message with paths of picture files: a terminal types the path of a file that is dropped on it, quoted or with backslashes.
struct DroppedPictures {
    /// The message without the paths.
    let text: String
    let files: [URL]

    private static let extensions = ["png", "jpg", "jpeg", "webp"]

    /// - Returns: `nil` where no word is the whole path of a picture file that is there.
    init?(_ message: String) {
        var files: [URL] = []
        let word = #/'(?<single>[^']+)'|"(?<double>[^"]+)"|(?<plain>(?:\\.|[^\s\\'"])+)/#
        let text = message.replacing(word) { match in
            let plain = match.single ?? match.double
            let path = plain.map(String.init) ?? match.output.0.replacing(#/\\(.)/#) { String($0.1) }
            guard let file = Self.file(path) else { return match.output.0 }
            files.append(file)
            return ""
        }
        guard !files.isEmpty else { return nil }
        self.files = files
        self.text = text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func file(_ path: String) -> URL? {
        let file =
            path.hasPrefix("file:///") ? URL(string: path) : path.hasPrefix("/") ? URL(fileURLWithPath: path) : nil
        guard let file, extensions.contains(file.pathExtension.lowercased()),
            FileManager.default.fileExists(atPath: file.path)
        else { return nil }
        return file
    }
}
