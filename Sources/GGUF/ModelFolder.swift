package import Foundation

/// The folder with this package's data of the user.
package enum DataFolder {
    /// Folder for user data by the XDG Base Directory Specification, which ignores paths that are not absolute.
    package static func url(_ environment: [String: String]) -> URL {
        url(environment, "XDG_DATA_HOME", ".local/share")
    }

    /// Folder for what can be computed again.
    package static func cache(_ environment: [String: String]) -> URL { url(environment, "XDG_CACHE_HOME", ".cache") }

    private static func url(_ environment: [String: String], _ variable: String, _ standard: String) -> URL {
        let folder =
            environment[variable].flatMap { $0.utf8.starts(with: "/".utf8) ? URL(fileURLWithPath: $0) : nil }
            ?? URL(fileURLWithPath: environment["HOME"] ?? NSHomeDirectory()).appendingPathComponent(standard)
        return folder.appendingPathComponent("localllm")
    }
}

/// The folder of downloaded models, shared by all programs of this package.
package enum ModelFolder {
    /// The folder that `shim pull` fills.
    package static func standard(_ environment: [String: String]) -> URL {
        DataFolder.url(environment).appendingPathComponent("models")
    }

    /// Whether a GGUF file is an image encoder by its name. It is loaded with a model and is none itself.
    package static func isImageEncoder(_ name: String) -> Bool { name.lowercased().hasPrefix("mmproj") }

    /// The image encoders in a folder, sorted by name.
    package static func imageEncoders(in directory: URL) -> [URL] {
        names(in: directory).filter { isImageEncoder($0) && $0.utf8.suffix(5).elementsEqual(".gguf".utf8) }.sorted().map
        {
            directory.appendingPathComponent($0)
        }
    }

    /// The models in a folder, sorted by name: GGUF files, of split models the first part, and folders of safetensors.
    package static func models(in directory: URL) -> [URL] {
        var stems: Set<String> = []
        return names(in: directory).sorted().compactMap { name in
            guard name.utf8.suffix(5).elementsEqual(".gguf".utf8) else {
                let folder = directory.appendingPathComponent(name, isDirectory: true)
                guard !name.hasSuffix(".part") else { return nil }
                // A folder without a configuration is something else, or not downloaded yet.
                let config = folder.appendingPathComponent("config.json").path
                return FileManager.default.fileExists(atPath: config) ? folder : nil
            }
            if isImageEncoder(name) { return nil }
            if let split = SplitName(name), !stems.insert("\(split.stem)/\(split.count)").inserted { return nil }
            return directory.appendingPathComponent(name)
        }
    }

    /// Unfinished downloads, by the names that the files will have.
    package static func unfinished(in directory: URL) -> [URL] {
        names(in: directory).filter { $0.utf8.suffix(10).elementsEqual(".gguf.part".utf8) }.sorted().map {
            directory.appendingPathComponent(String($0.dropLast(5)))
        }
    }

    private static func names(in directory: URL) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    }
}
