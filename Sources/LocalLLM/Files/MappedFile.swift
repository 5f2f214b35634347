#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file mapped read-only.
///
/// Bytes that are gone, since the file was made shorter while it was mapped, are read as zeros (`MappedRange`).
///
/// `@unchecked Sendable`: nothing is mutable after `init`, the pages are mapped without write access, and `deinit` runs
/// only once no view is left, since every `TensorView` and every metadata value holds a reference to its file.
final class MappedFile: @unchecked Sendable {
    let path: String
    let bytes: UnsafeRawBufferPointer
    /// Whether the bytes can be read again: not those of a copy in memory.
    private let isFile: Bool
    /// Tells whether some of the bytes are gone.
    let range: MappedRange?

    init(path: String) throws(ModelFileError) {
        func failure(_ what: String) -> ModelFileError {
            ModelFileError(.unreadable, "\(what): \(String(cString: strerror(errno))).", path: path)
        }
        // Without O_NONBLOCK, opening a named pipe would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure("The file cannot be opened") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("The file cannot be examined") }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw ModelFileError(.unreadable, "This is not a regular file.", path: path)
        }
        let size = Int(status.st_size)
        guard size > 0 else { throw ModelFileError(.truncated, "The file is empty.", path: path) }
        guard let base = mmap(nil, size, PROT_READ, MAP_SHARED, descriptor, 0), base != MAP_FAILED else {
            throw failure("The file of \(size) bytes cannot be mapped into memory")
        }
        self.path = path
        isFile = true
        bytes = UnsafeRawBufferPointer(start: base, count: size)
        range = MappedRange(bytes)
    }

    /// A copy of these bytes, as if they were read from `path`.
    init(path: String, contents: [UInt8]) throws(ModelFileError) {
        guard !contents.isEmpty else { throw ModelFileError(.truncated, "The file is empty.", path: path) }
        let access = PROT_READ | PROT_WRITE
        guard let base = mmap(nil, contents.count, access, MAP_PRIVATE | MAP_ANON, -1, 0), base != MAP_FAILED else {
            throw ModelFileError(.unreadable, "There is no memory for \(contents.count) bytes.", path: path)
        }
        base.copyMemory(from: contents, byteCount: contents.count)
        mprotect(base, contents.count, PROT_READ)
        self.path = path
        isFile = false
        range = nil
        bytes = UnsafeRawBufferPointer(start: base, count: contents.count)
    }

    deinit {
        range?.end()
        munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count)
    }

    /// Asks the system to start reading these bytes.
    func prefetch(_ range: Range<Int>) {
        let range = range.clamped(to: 0..<bytes.count)
        let pageSize = Int(getpagesize())
        let start = range.lowerBound / pageSize * pageSize
        guard start < range.upperBound, let base = bytes.baseAddress else { return }
        // A hint; that it could not be followed changes nothing.
        _ = madvise(UnsafeMutableRawPointer(mutating: base + start), range.upperBound - start, MADV_WILLNEED)
    }

    /// Lets the system take back the memory of these bytes; they are read again from the file if they are needed again.
    func giveBack(_ range: Range<Int>) {
        let pageSize = Int(getpagesize())
        let start = (range.lowerBound + pageSize - 1) / pageSize * pageSize
        let end = range.upperBound / pageSize * pageSize
        guard isFile, start < end, let base = bytes.baseAddress else { return }
        _ = madvise(UnsafeMutableRawPointer(mutating: base + start), end - start, MADV_DONTNEED)
    }
}
