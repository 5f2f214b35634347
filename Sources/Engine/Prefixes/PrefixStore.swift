import Compute
import Cryptography
package import Foundation
import Platform
import Synchronization

/// The prefix cache on disk: one file for each page of a prompt, and one for each checkpoint.
///
/// A file is named by the `PrefixKey` of its page, so that several processes use a folder without locks, and a lookup is the
/// test whether a file exists. It is written beside its place and renamed. What a file says is believed only if its digest
/// covers its key and its contents: one that was torn, altered or renamed is removed and computed again.
///
/// All functions may be called from any thread. They block.
package final class PrefixStore: Sendable {
    /// What a file holds.
    enum Kind: String {
        case page = "kv"
        case checkpoint = "state"
    }

    /// Files of all models, one folder for each; the folders have a file `model` with the model's name.
    private let root: String
    /// Files of this model.
    private let folder: String
    /// Maximum bytes of all files under `root`.
    private let limit: Int
    private let report: @Sendable (String) -> Void

    private struct State {
        /// Bytes written since all files were counted.
        var written = Int.max
        /// No more is written until then: the disk is full, or the folder cannot be written.
        var pause: ContinuousClock.Instant?
    }
    private let state = Mutex(State())

    private static let magic = Array("LLMKV001".utf8)
    private static let headerBytes = 40
    private static let digits = 16

    /// - Parameters:
    ///   - directory: Created with permissions for the user only.
    ///   - model: The digest that the model's keys begin with.
    ///   - limit: Maximum bytes of all files in the directory, of other models too.
    ///   - report: Called with a sentence when something cannot be written.
    package init(
        directory: String, model: [UInt8], name: String, limit: Int, report: @escaping @Sendable (String) -> Void
    ) {
        root = directory
        folder = "\(directory)/\(model.hexadecimal.prefix(Self.digits))"
        self.limit = limit
        self.report = report
        for path in [root, folder] where !FileManager.default.fileExists(atPath: path) {
            do {
                try FileManager.default.createDirectory(
                    atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } catch {
                fail("cannot create \(path): \(error.localizedDescription)")
            }
        }
        if !FileManager.default.fileExists(atPath: "\(folder)/model") {
            _ = FileManager.default.createFile(
                atPath: "\(folder)/model", contents: Data(name.utf8), attributes: [.posixPermissions: 0o600])
        }
    }

    private func path(_ key: PrefixKey, _ kind: Kind) -> String {
        "\(folder)/\(key.digest.hexadecimal).\(kind.rawValue)"
    }

    private func fail(_ reason: String) {
        state.withLock { $0.pause = .now + .seconds(60) }
        report("prefix cache: \(reason); nothing is stored for a minute")
    }

    func has(_ key: PrefixKey, _ kind: Kind) -> Bool { access(path(key, kind), R_OK) == 0 }

    /// Marks files as used now, so that they are removed last.
    func touch(_ keys: [PrefixKey]) {
        for key in keys { for kind in [Kind.page, .checkpoint] { utimes(path(key, kind), nil) } }
    }

    // MARK: Reading

    /// The parts of a file.
    ///
    /// - Parameter sizes: Bytes of each part.
    /// - Returns: `nil` if there is no such file, or not as it was written.
    func read(_ key: PrefixKey, _ kind: Kind, sizes: [Int]) -> [AlignedBuffer]? {
        let path = path(key, kind)
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        var header = [UInt8](repeating: 0, count: Self.headerBytes)
        let buffers: [AlignedBuffer]? = header.withUnsafeMutableBytes { header in
            guard fstat(file, &status) == 0, Int(status.st_size) == Self.headerBytes + sizes.reduce(0, +),
                WholeFile.fill(header, from: file)
            else { return nil }
            var buffers: [AlignedBuffer] = []
            for size in sizes {
                let buffer = AlignedBuffer(byteCount: size)
                guard WholeFile.fill(UnsafeMutableRawBufferPointer(start: buffer.base, count: size), from: file) else {
                    return nil
                }
                buffers.append(buffer)
            }
            let contents = zip(buffers, sizes).map { UnsafeRawBufferPointer(start: $0.base, count: $1) }
            return header.elementsEqual(Self.header(key, kind, contents)) ? buffers : nil
        }
        if buffers == nil { unlink(path) }
        return buffers
    }

    /// The first bytes of a file: a magic number, and the digest of what the file is and holds.
    private static func header(_ key: PrefixKey, _ kind: Kind, _ parts: [UnsafeRawBufferPointer]) -> [UInt8] {
        let hash = SHA256()
        hash.add(key.digest)
        hash.add(Array(kind.rawValue.utf8))
        for part in parts { hash.update(part) }
        return magic + hash.digest
    }

    // MARK: Writing

    /// Writes a file, unless it exists.
    ///
    /// - Returns: Whether the file exists now.
    func write(_ key: PrefixKey, _ kind: Kind, _ parts: [UnsafeRawBufferPointer]) -> Bool {
        let path = path(key, kind)
        if has(key, kind) {
            utimes(path, nil)
            return true
        }
        guard state.withLock({ $0.pause.map { $0 <= .now } ?? true }) else { return false }
        let bytes = Self.headerBytes + parts.reduce(0) { $0 + $1.count }
        makeRoom(for: bytes)
        let temporary = "\(folder)/.\(key.digest.hexadecimal.prefix(Self.digits)).\(UInt64.random(in: 0 ... .max))"
        let error = Self.header(key, kind, parts).withUnsafeBytes { header in
            WholeFile.write([header] + parts, to: path, by: temporary)
        }
        if let error { fail("cannot write \(folder): \(String(cString: strerror(error)))") }
        return error == nil
    }

    // MARK: Room

    /// Removes the files that were not used for longest, if with `bytes` more there would be too many. Other processes write
    /// too, so all files are counted now and then.
    private func makeRoom(for bytes: Int) {
        let isTime = state.withLock { state in
            let isTime = state.written >= limit / 32
            state.written = (isTime ? 0 : state.written) + bytes
            return isTime
        }
        guard isTime else { return }
        var files = Self.models(in: root).flatMap(Self.files)
        let stale = Date.now.addingTimeInterval(-3600)
        for file in files where file.isTemporary && file.lastUse < stale { unlink(file.path) }
        files.removeAll(where: \.isTemporary)
        var total = files.reduce(0) { $0 + $1.bytes }
        // What may be written until the next count has room, too.
        let room = limit - limit / 16
        guard total > room else { return }
        for file in files.sorted(by: { $0.lastUse < $1.lastUse }) where total > room {
            unlink(file.path)
            total -= file.bytes
        }
    }

    /// A file of a prefix cache.
    package struct File {
        package let path: String
        package let bytes: Int
        package let lastUse: Date
        let isTemporary: Bool
    }

    /// The files in the folder of a model.
    package static func files(of folder: String) -> [File] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.compactMap { name in
            let isTemporary = name.hasPrefix(".")
            let kind = name.split(separator: ".").last.flatMap { Kind(rawValue: String($0)) }
            var status = stat()
            guard isTemporary || kind != nil, stat("\(folder)/\(name)", &status) == 0 else { return nil }
            return File(
                path: "\(folder)/\(name)", bytes: Int(status.st_size),
                lastUse: Date(timeIntervalSince1970: TimeInterval(status.st_mtim.tv_sec)), isTemporary: isTemporary)
        }
    }

    /// The folders of models in a directory.
    package static func models(in directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.count == digits && FileManager.default.fileExists(atPath: "\(directory)/\($0)/model") }
            .map { "\(directory)/\($0)" }
    }
}
