import Foundation

/// Contents of a small kernel file, trimmed; `nil` if it cannot be read.
func kernelFile(_ path: String) -> String? {
    (try? String(contentsOfFile: path, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines)
}

/// The value of the first line `name: value` of a kernel file.
func field(_ name: String, of path: String) -> String? {
    for line in (kernelFile(path) ?? "").split(separator: "\n") {
        let parts = line.split(separator: ":", maxSplits: 1)
        if parts.count == 2, parts[0].trimmingCharacters(in: .whitespaces) == name {
            return parts[1].trimmingCharacters(in: .whitespaces)
        }
    }
    return nil
}
