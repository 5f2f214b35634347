import Platform
import Synchronization

/// A file mapped read-only.
///
/// If the file is truncated while mapped, the missing bytes read as zeros (`MappedRange`).
///
/// `@unchecked Sendable`: nothing is mutable after `init`, the pages are mapped without write access, and `deinit` runs
/// only when no view is left, since every `TensorView` and metadata value holds a reference to its file. Computed bytes
/// are written under a lock, before their address is handed out.
package final class MappedFile: @unchecked Sendable {
    package let path: String
    private let mapped: UnsafeRawBufferPointer
    /// Whether the bytes can be read again after eviction, unlike those of a copy in memory.
    package let isFile: Bool
    /// Computes bytes that derive from other files; `nil`: the bytes are this file's.
    private let contents: ComputedContents?
    /// Detects truncation of the file.
    let range: MappedRange?

    package init(path: String) throws(ModelFileError) {
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

    /// A copy of `contents`, as if read from `path`.
    package init(path: String, contents: [UInt8]) throws(ModelFileError) {
        guard !contents.isEmpty else { throw ModelFileError(.truncated, "The file is empty.", path: path) }
        let access = PROT_READ | PROT_WRITE
        guard let base = mmap(nil, contents.count, access, MAP_PRIVATE | MAP_ANON, -1, 0), base != MAP_FAILED else {
            throw ModelFileError(.unreadable, "Not enough memory for \(contents.count) bytes.", path: path)
        }
        base.copyMemory(from: contents, byteCount: contents.count)
        mprotect(base, contents.count, PROT_READ)
        self.path = path
        isFile = false
        self.contents = nil
        range = nil
        mapped = UnsafeRawBufferPointer(start: base, count: contents.count)
    }

    /// Bytes that are computed on first access, and again on access after `giveBack`.
    ///
    /// - Parameters:
    ///   - isKept: Whether they stay in memory even after `giveBack`.
    ///   - compute: Writes all `byteCount` bytes, which are zero before.
    package init(
        path: String, byteCount: Int, isKept: Bool = false,
        compute: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void
    ) throws(ModelFileError) {
        let flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE
        guard byteCount > 0, let base = mmap(nil, byteCount, PROT_READ | PROT_WRITE, flags, -1, 0), base != MAP_FAILED
        else { throw ModelFileError(.unreadable, "Not enough memory for \(byteCount) bytes.", path: path) }
        self.path = path
        isFile = false
        contents = ComputedContents(.init(start: base, count: byteCount), isKept: isKept, compute)
        range = nil
        mapped = UnsafeRawBufferPointer(start: base, count: byteCount)
    }

    package var bytes: UnsafeRawBufferPointer {
        contents?.makeReady()
        return mapped
    }

    var byteCount: Int { mapped.count }

    deinit {
        range?.end()
        munmap(UnsafeMutableRawPointer(mutating: mapped.baseAddress), mapped.count)
    }

    /// Asks the system to read these bytes ahead.
    package func prefetch(_ range: Range<Int>) {
        let range = range.clamped(to: 0..<mapped.count)
        let pageSize = Int(getpagesize())
        let start = range.lowerBound / pageSize * pageSize
        guard isFile, start < range.upperBound, let base = mapped.baseAddress else { return }
        // Only a hint, so errors are ignored.
        _ = madvise(UnsafeMutableRawPointer(mutating: base + start), range.upperBound - start, MADV_WILLNEED)
    }

    /// Lets the system reclaim the memory of these bytes; they are read from the file again on access. Computed bytes
    /// are released all at once, when the range includes the last one.
    package func giveBack(_ range: Range<Int>) {
        if range.upperBound == mapped.count { contents?.giveBack() }
        let pageSize = Int(getpagesize())
        let start = (range.lowerBound + pageSize - 1) / pageSize * pageSize
        let end = range.upperBound / pageSize * pageSize
        guard isFile, start < end, let base = mapped.baseAddress else { return }
        _ = madvise(UnsafeMutableRawPointer(mutating: base + start), end - start, MADV_DONTNEED)
    }
}

/// Memory that is filled on first access.
///
/// `@unchecked Sendable`: the memory is written under the lock, before `isReady` is set.
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

    /// Must not be called while the bytes are read.
    func giveBack() {
        if isKept { return }
        lock.withLock { _ in
            guard isReady.load(ordering: .relaxed) else { return }
            isReady.store(false, ordering: .releasing)
            _ = madvise(memory.baseAddress!, memory.count, MADV_DONTNEED)
        }
    }
}
