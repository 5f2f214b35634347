import Foundation

/// Writes a GGUF file: the header, then the bytes of its tensors in order.
///
/// The file is written as `PATH.part` and renamed when complete; it is deleted if the writer is released before.
package final class GGUFWriter {
    private let path: String
    private let tensors: [TensorShape]
    private let handle: FileHandle
    /// Index of the tensor being written.
    private var index = 0
    private var written = 0
    private var isFinished = false

    private var temporaryPath: String { path + ".part" }

    package init(path: String, _ metadata: GGUFDraft, _ tensors: [TensorShape]) throws {
        self.path = path
        self.tensors = tensors
        guard FileManager.default.createFile(atPath: path + ".part", contents: nil),
            let handle = FileHandle(forWritingAtPath: path + ".part")
        else { throw ModelFileError(.unreadable, "The file cannot be written.", path: path + ".part") }
        self.handle = handle
        try write(metadata.header(tensors))
    }

    deinit {
        try? handle.close()
        if !isFinished { try? FileManager.default.removeItem(atPath: temporaryPath) }
    }

    /// Appends bytes of the current tensor; when it is complete, the next one becomes current.
    package func append(_ bytes: UnsafeRawBufferPointer) throws {
        let size = tensors[index].byteCount
        precondition(written + bytes.count <= size, "more bytes than tensor \(tensors[index].name) has")
        try write(
            Data(
                bytesNoCopy: UnsafeMutableRawPointer(mutating: bytes.baseAddress!), count: bytes.count,
                deallocator: .none))
        written += bytes.count
        guard written == size else { return }
        try write([UInt8](repeating: 0, count: GGUFDraft.padded(size) - size))
        (index, written) = (index + 1, 0)
    }

    package func finish() throws {
        precondition(index == tensors.count, "tensor \(index) of \(tensors.count) is not written")
        do {
            // Some file systems report a failed write only here.
            try handle.synchronize()
            try handle.close()
        } catch {
            throw failure(error)
        }
        guard rename(temporaryPath, path) == 0 else {
            throw ModelFileError(
                .unreadable, "The file cannot be written: \(String(cString: strerror(errno))).", path: path)
        }
        isFinished = true
    }

    private func write(_ data: some DataProtocol) throws {
        do {
            try handle.write(contentsOf: data)
        } catch {
            throw failure(error)
        }
    }

    private func failure(_ error: any Error) -> ModelFileError {
        ModelFileError(.unreadable, "The file cannot be written: \(error.localizedDescription)", path: temporaryPath)
    }
}
