import Foundation

/// A message with paths of image files: a terminal types the path of a file that is dropped on it, in quotes or with
/// backslashes before blanks.
struct DroppedImages {
    /// The message without the paths.
    let text: String
    /// Absolute paths of files that exist, in the order of the message.
    let files: [String]

    private static let extensions = ["png", "jpg", "jpeg", "webp", "gif"]

    /// - Returns: `nil` where no word is the whole path of an image file that exists.
    init?(_ message: String) {
        var (text, files) = ("", [String]())
        var rest = message[...]
        while !rest.isEmpty {
            let (word, value) = Self.word(&rest)
            if let file = Self.file(value) { files.append(file) } else { text += word }
        }
        guard !files.isEmpty else { return nil }
        self.files = files
        self.text = text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Takes a white space or a word from the beginning.
    ///
    /// - Returns: It as it was typed, and what it means without its quotes and backslashes.
    private static func word(_ rest: inout Substring) -> (Substring, String) {
        let start = rest
        guard let first = rest.first else { return (rest, "") }
        if first.isWhitespace {
            rest.removeFirst()
            return (start.prefix(1), "")
        }
        // An apostrophe within a word of prose is no quote.
        let isQuoted = "'\"".contains(first)
        var value = ""
        while let next = rest.first, !next.isWhitespace {
            rest.removeFirst()
            if isQuoted, "'\"".contains(next), let end = rest.firstIndex(of: next) {
                value += rest[..<end]
                rest = rest[rest.index(after: end)...]
            } else if next == "\\", let escaped = rest.popFirst() {
                value.append(escaped)
            } else {
                value.append(next)
            }
        }
        return (start[..<rest.startIndex], value)
    }

    private static func file(_ path: String) -> String? {
        let path = path.hasPrefix("file:///") ? URL(string: path)?.path ?? "" : path
        guard path.hasPrefix("/"), extensions.contains((path as NSString).pathExtension.lowercased()),
            FileManager.default.fileExists(atPath: path)
        else { return nil }
        return path
    }
}
