import Synchronization

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
/// Computed bytes change once, under a lock, before anybody has their address.
final class MappedFile: @unchecked Sendable {
    let path: String
    private let mapped: UnsafeRawBufferPointer
    /// Whether the bytes can be read again: not those of a copy in memory.
    private let isFile: Bool
    /// What puts bytes in memory that come from other files; `nil` where they lie in this one.
    private let contents: ComputedContents?
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
        contents = nil
        mapped = UnsafeRawBufferPointer(start: base, count: size)
        range = MappedRange(mapped)
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
        self.contents = nil
        range = nil
        mapped = UnsafeRawBufferPointer(start: base, count: contents.count)
    }

    /// Bytes that are computed when they are read, and again if they are read after they were given back.
    ///
    /// - Parameters:
    ///   - isKept: Whether they stay in memory all the same.
    ///   - compute: Writes all `byteCount` bytes; they are zeros before.
    init(
        path: String, byteCount: Int, isKept: Bool = false,
        compute: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void
    ) throws(ModelFileError) {
        let flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE
        guard byteCount > 0, let base = mmap(nil, byteCount, PROT_READ | PROT_WRITE, flags, -1, 0), base != MAP_FAILED
        else { throw ModelFileError(.unreadable, "There is no memory for \(byteCount) bytes.", path: path) }
        self.path = path
        isFile = false
        contents = ComputedContents(.init(start: base, count: byteCount), isKept: isKept, compute)
        range = nil
        mapped = UnsafeRawBufferPointer(start: base, count: byteCount)
    }

    var bytes: UnsafeRawBufferPointer {
        contents?.makeReady()
        return mapped
    }

    var byteCount: Int { mapped.count }

    deinit {
        range?.end()
        munmap(UnsafeMutableRawPointer(mutating: mapped.baseAddress), mapped.count)
    }

    /// Asks the system to start reading these bytes.
    func prefetch(_ range: Range<Int>) {
        let range = range.clamped(to: 0..<mapped.count)
        let pageSize = Int(getpagesize())
        let start = range.lowerBound / pageSize * pageSize
        guard isFile, start < range.upperBound, let base = mapped.baseAddress else { return }
        // A hint; that it could not be followed changes nothing.
        _ = madvise(UnsafeMutableRawPointer(mutating: base + start), range.upperBound - start, MADV_WILLNEED)
    }

    /// Lets the system take back the memory of these bytes; they are read again from the file if they are needed again.
    /// Computed bytes are given back with their last one, all at once.
    func giveBack(_ range: Range<Int>) {
        if range.upperBound == mapped.count { contents?.giveBack() }
        let pageSize = Int(getpagesize())
        let start = (range.lowerBound + pageSize - 1) / pageSize * pageSize
        let end = range.upperBound / pageSize * pageSize
        guard isFile, start < end, let base = mapped.baseAddress else { return }
        _ = madvise(UnsafeMutableRawPointer(mutating: base + start), end - start, MADV_DONTNEED)
    }
}

/// Memory that is filled when it is first needed.
///
/// `@unchecked Sendable`: the memory is written under the lock, before `isReady` says so.
private final class ComputedContents: @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer
    private let isKept: Bool
    private let compute: @Sendable (UnsafeMutableRawBufferPointer) -> Void
    private let isReady = Atomic(false)
    private let lock = Mutex(())

    init(
        _ memory: UnsafeMutableRawBufferPointer, isKept: Bool,
        _ compute: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void
    ) {
        self.memory = memory
        self.isKept = isKept
        self.compute = compute
    }

    func makeReady() {
        if isReady.load(ordering: .acquiring) { return }
        lock.withLock { _ in
            if isReady.load(ordering: .relaxed) { return }
            compute(memory)
            isReady.store(true, ordering: .releasing)
        }
    }

    /// Nobody may be reading.
    func giveBack() {
        if isKept { return }
        lock.withLock { _ in
            guard isReady.load(ordering: .relaxed) else { return }
            isReady.store(false, ordering: .releasing)
            _ = madvise(memory.baseAddress!, memory.count, MADV_DONTNEED)
        }
    }
}
