import CommandLineParsing
import Foundation
import JSON
import LocalLLM
import Wire

/// A value of the configuration file. Errors name the file, the value's place in it, what was expected and what was
/// found.
struct ConfigNode: Sendable {
    let value: JSON
    /// `models[0].context`; empty for the whole file.
    let path: String
    /// The file, as the user names it.
    let file: String

    private static let maximumBytes = 1 << 20

    private init(_ value: JSON, _ path: String, _ file: String) {
        (self.value, self.path, self.file) = (value, path, file)
    }

    /// Reads a file.
    init(file: String) throws(UsageError) {
        let bytes: [UInt8]
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: file))
            defer { try? handle.close() }
            bytes = Array(try handle.read(upToCount: Self.maximumBytes + 1) ?? Data())
        } catch {
            throw UsageError("--config \(file): cannot be read: \(error.localizedDescription)")
        }
        guard bytes.count <= Self.maximumBytes else {
            throw UsageError("--config \(file): expected at most \(Self.maximumBytes) bytes")
        }
        do {
            self.init(try JSON(body: bytes), "", file)
        } catch {
            let reason = error.message.replacing("The body could not be read as JSON", with: "not JSON")
            throw UsageError("\(file): \(reason)")
        }
    }

    func error(_ what: String) -> UsageError { UsageError("\(file): \(path.isEmpty ? "" : path + ": ")\(what)") }

    private func expected(_ what: String) -> UsageError { error("expected \(what), found \(found)") }

    private var found: String {
        switch value {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let number): "\(number.text.prefix(80))"
        case .string(let text): "'\(text.prefix(80))\(text.count > 80 ? "…" : "")'"
        case .array: "an array"
        case .object: "an object"
        }
    }

    static func text(_ number: Double) -> String { Int(exactly: number).map { "\($0)" } ?? "\(number)" }

    /// The members of an object, in the order of `known`.
    ///
    /// - Throws: If there is a member with another name.
    func members(_ known: [String]) throws(UsageError) -> [(name: String, node: ConfigNode)] {
        guard case .object(let members) = value else { throw expected("an object") }
        if let stray = members.members.map(\.name).filter({ !known.contains($0) }).min() {
            let near = known.map { ($0, distance(stray, $0)) }.min { $0.1 < $1.1 }
            let hint = near.map { $0.1 <= 3 ? "did you mean '\($0.0)'?" : "expected \(known.joined(separator: ", "))" }
            throw error("unknown key '\(stray.prefix(80))'; \(hint ?? "")")
        }
        return known.compactMap { name in
            members[name].map { (name, ConfigNode($0, path.isEmpty ? name : "\(path).\(name)", file)) }
        }
    }

    func elements() throws(UsageError) -> [ConfigNode] {
        guard case .array(let values) = value else { throw expected("an array") }
        return values.enumerated().map { ConfigNode($1, "\(path)[\($0)]", file) }
    }

    func string() throws(UsageError) -> String {
        guard case .string(let text) = value, !text.isEmpty, !text.utf8.contains(0) else {
            throw expected("text that is not empty")
        }
        return text
    }

    func bool() throws(UsageError) -> Bool {
        guard case .bool(let value) = value else { throw expected("true or false") }
        return value
    }

    func int(in range: ClosedRange<Int>) throws(UsageError) -> Int {
        guard case .number(let number) = value, let int = number.int, range.contains(int) else {
            throw expected("a whole number in \(range)")
        }
        return int
    }

    func double(in range: ClosedRange<Double>) throws(UsageError) -> Double {
        guard case .number(let number) = value, range.contains(number.double) else {
            throw expected("a number from \(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))")
        }
        return number.double
    }

    /// A path, relative to the folder of the configuration file.
    func url() throws(UsageError) -> URL {
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent()
        return URL(fileURLWithPath: try string(), relativeTo: folder).standardizedFileURL
    }

    func existingURL() throws(UsageError) -> URL {
        let url = try url()
        guard FileManager.default.isReadableFile(atPath: url.path) else {
            throw error("no such file, or not readable: \(url.path)")
        }
        return url
    }

    /// The value as the text that would follow the option on the command line; `nil`: the option is off.
    func texts(of option: Option) throws(UsageError) -> [String]? {
        guard option.value != nil else { return try bool() ? [""] : nil }
        if option.repeats, case .array = value {
            var texts: [String] = []
            for element in try elements() { texts.append(try element.text(of: option)) }
            return texts
        }
        return [try text(of: option)]
    }

    private func text(of option: Option) throws(UsageError) -> String {
        if option.isPath { return try url().path }
        if case .number(let number) = value { return number.text }
        return try string()
    }

    /// Sets what the value says of a model or of its sampling.
    func apply<Target>(_ setting: Setting<Target>, to target: inout Target) throws(UsageError) {
        switch setting.kind {
        case .count(let range, let path): target[keyPath: path] = try int(in: range)
        case .number(let range, let path): target[keyPath: path] = try double(in: range)
        case .flag(let path): target[keyPath: path] = try bool()
        case .file(let path): target[keyPath: path] = try existingURL()
        case .folder(let path): target[keyPath: path] = try url()
        case .size(let path):
            guard let bytes = byteCount(try string()) else { throw expected(sizeForm) }
            target[keyPath: path] = bytes
        case .name(let names, _, let set):
            guard set(try string(), &target) else { throw expected(names.joined(separator: ", ")) }
        case .adapters(let path):
            var adapters: [LocalModel.AdapterFile] = []
            for element in try elements() { adapters.append(try element.adapter()) }
            target[keyPath: path] = adapters
        }
    }

    private func adapter() throws(UsageError) -> LocalModel.AdapterFile {
        var (url, scale) = (URL?.none, 1.0)
        for (name, node) in try members(["file", "scale"]) {
            if name == "file" { url = try node.existingURL() } else { scale = try node.double(in: -1000...1000) }
        }
        guard let url else { throw error("'file' is missing") }
        return LocalModel.AdapterFile(url: url, scale: scale)
    }
}

/// The number of bytes to insert, remove or change to get from one text to the other.
private func distance(_ first: String, _ second: String) -> Int {
    let (first, second) = (Array(first.utf8.prefix(80)), Array(second.utf8))
    var row = Array(0...second.count)
    for (i, a) in first.enumerated() {
        var diagonal = row[0]
        row[0] = i + 1
        for (j, b) in second.enumerated() {
            (diagonal, row[j + 1]) = (row[j + 1], min(row[j + 1] + 1, row[j] + 1, diagonal + (a == b ? 0 : 1)))
        }
    }
    return row[second.count]
}
