import Foundation

/// Split models: `name-00001-of-00003.gguf` and so on, as llama.cpp's `gguf-split` writes them.
extension GGUFPart {
    /// The model at `path`; if it is a part of a split model, all parts in order.
    static func all(startingWith path: String) throws(ModelFileError) -> [GGUFPart] {
        let opened = try GGUFPart(MappedFile(path: path))
        let split = try Split(opened)
        guard split.count > 1 else { return try split.checked([opened]) }

        guard let prefix = prefix(of: path, split) else {
            throw ModelFileError(
                .badSplit,
                "This is part \(split.index + 1) of a model split into \(split.count), so that the other parts can be "
                    + "found its name must end in '\(suffix(split.index, split.count))'.", path: path)
        }
        var parts: [GGUFPart] = []
        for index in 0..<split.count {
            parts.append(
                index == split.index
                    ? opened : try openPart(index, at: prefix + suffix(index, split.count), like: split, asked: path))
        }
        return try split.checked(parts)
    }

    private static func openPart(
        _ index: Int, at path: String, like first: Split, asked: String
    ) throws(ModelFileError) -> GGUFPart {
        guard FileManager.default.fileExists(atPath: path) else {
            throw ModelFileError(
                .badSplit, "Part \(index + 1) of \(first.count) is missing: there is no file '\(path)'.", path: asked)
        }
        let part = try GGUFPart(MappedFile(path: path))
        let split = try Split(part)
        guard split.index == index, split.count == first.count, split.tensors == first.tensors else {
            throw ModelFileError(
                .badSplit,
                "This file must be part \(index + 1) of \(first.count) of the model of '\(asked)' "
                    + "(\(first.tensorText)), but says that it is part \(split.index + 1) of \(split.count) "
                    + "(\(split.tensorText)).", path: path)
        }
        return part
    }

    /// The path without "-00001-of-00003.gguf", if it has that suffix.
    private static func prefix(of path: String, _ split: Split) -> String? {
        let ending = suffix(split.index, split.count)
        return path.utf8.reversed().starts(with: ending.utf8.reversed()) ? String(path.dropLast(ending.count)) : nil
    }

    private static func suffix(_ index: Int, _ count: Int) -> String {
        String(format: "-%05d-of-%05d.gguf", index + 1, count)
    }
}

/// A file's metadata on its split; without any, it is part 0 of 1.
private struct Split {
    let index: Int
    let count: Int
    /// Number of tensors in all parts together.
    let tensors: Int?

    init(_ part: GGUFPart) throws(ModelFileError) {
        index = try part.metadata.intIfPresent("split.no") ?? 0
        count = try part.metadata.intIfPresent("split.count") ?? 1
        tensors = try part.metadata.intIfPresent("split.tensors.count")
        // Some tools write a count of 0 into models that are not split. Part numbers have 16 bits.
        guard (0...65535).contains(count), (0..<max(count, 1)).contains(index) else {
            throw ModelFileError(
                .badSplit, "The file says that it is part \(index) (split.no, from 0) of \(count) (split.count).",
                path: part.file.path)
        }
        if let tensors, tensors < 0 {
            throw ModelFileError(
                .badSplit, "The file says that all parts hold \(tensors) tensors (split.tensors.count).",
                path: part.file.path)
        }
    }

    /// The parts, if they have as many tensors as the file says.
    func checked(_ parts: [GGUFPart]) throws(ModelFileError) -> [GGUFPart] {
        let found = parts.reduce(0) { $0 + $1.tensors.count }
        if let tensors, tensors != found, count > 0 {
            throw ModelFileError(
                .badSplit,
                "The parts of the model must hold \(tensors) tensors together (split.tensors.count), but hold \(found).",
                path: parts[0].file.path)
        }
        return parts
    }

    var tensorText: String { tensors.map { "\($0) tensors in all" } ?? "number of tensors unknown" }
}
