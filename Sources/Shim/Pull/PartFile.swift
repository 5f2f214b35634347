import CommandLineParsing
import Cryptography
import Foundation
import Wire

/// An incomplete download: `NAME.part`, and beside it `NAME.part.etag` with the version's entity tag.
///
/// Locked by the process that has it open. It is kept if the download is interrupted, to be resumed.
final class PartFile {
    let url: URL
    private let target: URL
    private let descriptor: Int32
    private var hash = SHA256()
    private(set) var count = 0

    private var etagFile: URL { url.appendingPathExtension("etag") }

    /// Opens the part of an earlier attempt, or creates one.
    init(for target: URL) throws(PullError) {
        self.target = target
        url = target.appendingPathExtension("part")
        descriptor = open(url.path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { throw Self.failure("\(url.path) cannot be opened") }
        // From here on `deinit` closes the file, also where an error is thrown.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw PullError("\(url.path) is being written by another download.")
        }
        try readExisting()
    }

    deinit { close(descriptor) }

    /// Entity tag of the version that the bytes belong to; without it, or if it is damaged, they cannot be resumed.
    var etag: String? {
        guard let text = try? String(contentsOf: etagFile, encoding: .utf8), text.hasPrefix("\""), text.hasSuffix("\""),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f })
        else { return nil }
        return text
    }

    /// SHA-256 of the bytes so far, 64 hexadecimal digits.
    var sha256: String { hash.hexadecimal }

    private func readExisting() throws(PullError) {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let length = read(descriptor, &buffer, buffer.count)
            guard length >= 0 else { throw Self.failure("\(url.path) cannot be read") }
            if length == 0 { return }
            buffer.withUnsafeBytes { hash.update(.init(rebasing: $0[..<length])) }
            count += length
        }
    }

    /// Empties the file for a new version.
    func restart(etag: String?) throws(PullError) {
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw Self.failure("\(url.path) cannot be emptied")
        }
        (hash, count) = (SHA256(), 0)
        try? FileManager.default.removeItem(at: etagFile)
        // If this fails, the next attempt merely starts over.
        try? etag?.write(to: etagFile, atomically: true, encoding: .utf8)
    }

    func append(_ data: ArraySlice<UInt8>) throws(PullError) {
        let isWritten = data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let length = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if length < 0 && errno == EINTR { continue }
                guard length > 0 else { return false }
                rest = rest.dropFirst(length)
            }
            hash.update(bytes)
            return true
        }
        guard isWritten else { throw Self.failure("\(url.path) cannot be written beyond \(size(count))") }
        count += data.count
    }

    /// Removes the part and its tag.
    func remove() {
        try? FileManager.default.removeItem(at: url)
        try? FileManager.default.removeItem(at: etagFile)
    }

    /// Syncs the file to disk and gives it its final name.
    func finish() throws(PullError) {
        guard fsync(descriptor) == 0, rename(url.path, target.path) == 0 else {
            throw Self.failure("\(url.path) cannot be renamed to \(target.path)")
        }
        try? FileManager.default.removeItem(at: etagFile)
    }

    private static func failure(_ what: String) -> PullError {
        PullError("\(what): \(String(cString: strerror(errno))).")
    }
}
