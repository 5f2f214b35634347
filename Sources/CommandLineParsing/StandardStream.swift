import Platform

/// Standard output and standard error. Unlike `FileHandle.write`, writing does not end the process if the reader is
/// gone.
public enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// Writes all of the text, waiting for a slow reader.
    ///
    /// - Returns: Whether it was written; `false` if the reader is gone.
    @discardableResult
    public func write(_ text: String) -> Bool { writeAll(Array(text.utf8), to: rawValue) }
}

/// Writes all bytes to a descriptor, waiting for a slow reader.
///
/// - Returns: Whether they were written.
@discardableResult
public func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count > 0 {
            rest = rest.dropFirst(count)
        } else if errno == EAGAIN {
            var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&wanted, 1, -1) > 0, wanted.revents & Int16(POLLERR | POLLNVAL) == 0 else { return false }
        } else if errno != EINTR {
            return false
        }
    }
    return true
}
