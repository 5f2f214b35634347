import Foundation

/// Files that are whole or not there: they are written beside their place and renamed.
enum WholeFile {
    /// Writes a file that only the user can read, in place of one with the same name.
    ///
    /// - Parameters:
    ///   - path: A file's path.
    ///   - temporary: A path in the same folder, of no file yet. Nothing is left there if writing fails.
    /// - Returns: The system's error number; `nil` if the file is written.
    static func write(_ parts: [UnsafeRawBufferPointer], to path: String, by temporary: String) -> Int32? {
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { return errno }
        let isWritten = parts.allSatisfy { drain($0, into: file) }
        let error = errno
        guard close(file) == 0, isWritten, rename(temporary, path) == 0 else {
            let last = errno
            unlink(temporary)
            return isWritten ? last : error
        }
        return nil
    }

    private static func drain(_ bytes: UnsafeRawBufferPointer, into file: Int32) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = Foundation.write(file, bytes.baseAddress! + done, bytes.count - done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    /// Reads as many bytes as there is room for.
    ///
    /// - Returns: Whether the file has so many.
    static func fill(_ bytes: UnsafeMutableRawBufferPointer, from file: Int32) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = read(file, bytes.baseAddress! + done, bytes.count - done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }
}
