package import Foundation

/// What all programs of this package keep for a user.
package enum DataFolder {
    /// That of the XDG Base Directory Specification for a user's data, which has paths that are not absolute ignored.
    package static func url(_ environment: [String: String]) -> URL {
        let data =
            environment["XDG_DATA_HOME"].flatMap { $0.utf8.starts(with: "/".utf8) ? URL(fileURLWithPath: $0) : nil }
            ?? URL(fileURLWithPath: environment["HOME"] ?? NSHomeDirectory()).appendingPathComponent(".local/share")
        return data.appendingPathComponent("localllm")
    }
}

/// Where models lie that were downloaded for all programs.
package enum ModelFolder {
    /// The folder that `shim pull` fills.
    package static func standard(_ environment: [String: String]) -> URL {
        DataFolder.url(environment).appendingPathComponent("models")
    }

    /// The model of this name, which is that of its file, with or without the extension and the number of the part.
    package static func model(named name: String, in directory: URL) -> URL? {
        models(in: directory).first { url in
            let file = url.lastPathComponent
            return [file, String(file.dropLast(5)), SplitName(file)?.stem].contains(name)
        }
    }

    /// The models in a folder by name, of split ones the first part.
    package static func models(in directory: URL) -> [URL] {
        var stems: Set<String> = []
        return names(in: directory).filter { $0.utf8.suffix(5).elementsEqual(".gguf".utf8) }.sorted().compactMap {
            name in
            if let split = SplitName(name), !stems.insert("\(split.stem)/\(split.count)").inserted { return nil }
            return directory.appendingPathComponent(name)
        }
    }

    /// Downloads that are not whole, by the names that they will have.
    package static func unfinished(in directory: URL) -> [URL] {
        names(in: directory).filter { $0.utf8.suffix(10).elementsEqual(".gguf.part".utf8) }.sorted().map {
            directory.appendingPathComponent(String($0.dropLast(5)))
        }
    }

    private static func names(in directory: URL) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    }
}
