package import Compute
import Cryptography
import Foundation
import KernelFormats

/// A file with the states of one text: what a slot holds (`Slots`), to be restored by this or a later process.
///
/// Layout, all integers little-endian: magic (8 bytes); SHA-256 of everything after it (32); numbers of tokens, of tokens
/// that are the prompt, of pages, of pages that were prefilled, and of adapters (UInt32 each); the adapters' scales (Float
/// each); the key of the text's root (32); a byte per page that says whether a checkpoint follows the page; the tokens
/// (Int32 each); the parts of each page and of its checkpoint. The sizes of parts are those of the model's `StateShape`.
package struct SlotFile {
    /// What a file says about its states.
    package struct Head: Sendable, Equatable {
        /// All tokens of the text. The file has the states of the whole pages among them.
        package var tokens: [Int32]
        package var promptTokens: Int
        /// By page: whether there is a checkpoint after it.
        package var checkpoints: [Bool]
        /// So many of the first pages were prefilled.
        package var promptPages: Int
        /// Scale of each adapter of the model.
        package var scales: [Float]
        /// Everything but the tokens that the states depend on.
        package var root: PrefixKey

        /// Tokens whose states the file has.
        package var savedTokens: Int { checkpoints.count * pageTokens }
    }

    /// Why a file was not written or not used. The text is for the client that named the file.
    package enum Failure: Error, Equatable {
        case missing
        /// Says what was expected and what was found.
        case invalid(String)
        case notWritten(String)
    }

    let head: Head
    let pages: [[AlignedBuffer]]
    /// By page.
    let checkpoints: [[AlignedBuffer]?]
    package let bytes: Int

    private static let magic = Array("LLMSLOT1".utf8)
    fileprivate static let digestBytes = 32

    // MARK: Writing

    /// Writes a file, in place of one with the same name.
    ///
    /// - Parameter parts: The parts of each page, and of the checkpoint after it if there is one.
    /// - Returns: Bytes of the file.
    static func write(_ head: Head, _ parts: [UnsafeRawBufferPointer], to path: String) throws(Failure) -> Int {
        let bytes = head.encoded
        let hash = SHA256()
        bytes.withUnsafeBytes(hash.update)
        for part in parts { hash.update(part) }
        let beginning = magic + hash.digest + bytes
        let folder = (path as NSString).deletingLastPathComponent
        let error = beginning.withUnsafeBytes { beginning in
            WholeFile.write(
                [beginning] + parts, to: path, by: "\(folder)/.\(UInt64.random(in: 0 ... .max))")
        }
        if let error { throw .notWritten(String(cString: strerror(error))) }
        return beginning.count + parts.reduce(0) { $0 + $1.count }
    }

    // MARK: Reading

    /// Reads a file; every byte of it is covered by its digest.
    ///
    /// - Parameters:
    ///   - shape: The shape of the model's states.
    ///   - limit: Maximum bytes of states.
    package init(path: String, _ shape: StateShape, limit: Int) throws(Failure) {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else {
            if errno == ENOENT { throw .missing }
            throw .invalid("cannot be opened: \(String(cString: strerror(errno)))")
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .invalid("expected a file, found something else")
        }
        var reader = Reader(file: file, left: Int(status.st_size))
        guard try reader.bytes(Self.magic.count) == Self.magic else {
            throw .invalid("expected the states of a slot, found another kind of file")
        }
        let digest = try reader.bytes(Self.digestBytes)
        reader.hash = SHA256()
        head = try Head(&reader)
        let sizes = Self.sizes(head, shape)
        let expected = sizes.reduce(0) { $0 + $1.reduce(0, +) }
        guard expected == reader.left else {
            throw .invalid(
                "expected \(expected) bytes of states for \(head.savedTokens) tokens of this model, found \(reader.left)"
            )
        }
        guard expected <= limit else {
            throw .invalid("has \(expected) bytes of states, but only \(limit) bytes of memory are for them")
        }
        var pages: [[AlignedBuffer]] = []
        var checkpoints: [[AlignedBuffer]?] = []
        for (index, hasCheckpoint) in head.checkpoints.enumerated() {
            pages.append(try reader.buffers(shape.sharedPageBytes))
            let length = (index + 1) * pageTokens
            checkpoints.append(hasCheckpoint ? try reader.buffers(shape.checkpointBytes(at: length)) : nil)
        }
        guard reader.hash?.digest == digest else { throw .invalid("is damaged: its checksum is another one") }
        (self.pages, self.checkpoints) = (pages, checkpoints)
        bytes = Int(status.st_size)
    }

    /// Bytes of the parts of each page, and of the checkpoint after it if there is one.
    private static func sizes(_ head: Head, _ shape: StateShape) -> [[Int]] {
        head.checkpoints.enumerated().map { index, hasCheckpoint in
            shape.sharedPageBytes + (hasCheckpoint ? shape.checkpointBytes(at: (index + 1) * pageTokens) : [])
        }
    }

    /// Reads and digests a file, never more than it has.
    fileprivate struct Reader {
        let file: Int32
        var left: Int
        var hash: SHA256?

        mutating func bytes(_ count: Int) throws(Failure) -> [UInt8] {
            try need(count)
            var bytes = [UInt8](repeating: 0, count: count)
            let isRead = bytes.withUnsafeMutableBytes { read($0) }
            guard isRead else { throw .invalid("cannot be read to its end") }
            return bytes
        }

        mutating func buffers(_ sizes: [Int]) throws(Failure) -> [AlignedBuffer] {
            var buffers: [AlignedBuffer] = []
            for size in sizes {
                try need(size)
                let buffer = AlignedBuffer(byteCount: size)
                guard read(UnsafeMutableRawBufferPointer(start: buffer.base, count: size)) else {
                    throw .invalid("cannot be read to its end")
                }
                buffers.append(buffer)
            }
            return buffers
        }

        private func need(_ count: Int) throws(Failure) {
            guard count <= left else { throw .invalid("ends too early: expected \(count) more bytes, found \(left)") }
        }

        private mutating func read(_ bytes: UnsafeMutableRawBufferPointer) -> Bool {
            guard WholeFile.fill(bytes, from: file) else { return false }
            left -= bytes.count
            hash?.update(UnsafeRawBufferPointer(bytes))
            return true
        }
    }
}

extension SlotFile.Head {
    fileprivate var encoded: [UInt8] {
        var bytes: [UInt8] = []
        for count in [tokens.count, promptTokens, checkpoints.count, promptPages, scales.count] {
            withUnsafeBytes(of: UInt32(count).littleEndian) { bytes += $0 }
        }
        for scale in scales { withUnsafeBytes(of: scale.bitPattern.littleEndian) { bytes += $0 } }
        bytes += root.digest
        bytes += checkpoints.map { $0 ? 1 : 0 }
        for token in tokens { withUnsafeBytes(of: token.littleEndian) { bytes += $0 } }
        return bytes
    }

    fileprivate init(_ reader: inout SlotFile.Reader) throws(SlotFile.Failure) {
        let counts = try reader.words(5).map { Int($0) }
        let (tokens, pages) = (counts[0], counts[2])
        guard counts[1] <= tokens, pages <= tokens / pageTokens, counts[3] <= pages else {
            throw .invalid("has \(pages) pages of \(pageTokens) tokens, which is not a part of \(tokens) tokens")
        }
        (promptTokens, promptPages) = (counts[1], counts[3])
        scales = try reader.words(counts[4]).map { Float(bitPattern: $0) }
        root = PrefixKey(digest: try reader.bytes(SlotFile.digestBytes))
        checkpoints = try reader.bytes(pages).map { $0 != 0 }
        self.tokens = try reader.words(tokens).map { Int32(bitPattern: $0) }
    }
}

extension SlotFile.Reader {
    fileprivate mutating func words(_ count: Int) throws(SlotFile.Failure) -> [UInt32] {
        let bytes = try bytes(4 * count)
        return (0..<count).map { index in
            (0..<4).reduce(0) { $0 | UInt32(bytes[4 * index + $1]) << (8 * UInt32($1)) }
        }
    }
}
