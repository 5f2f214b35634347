import Glibc

/// Not inherited by programs that tests start: a copy there would keep a connection open that the test has closed.
private let streamKind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)

/// A blocking TCP client that sends exactly the given bytes. Use it inside `onThread`: blocking a thread of the shared
/// pool could keep the server under test from running.
public final class SocketClient: @unchecked Sendable {
    private let descriptor: Int32

    public struct Failure: Error {
        public var call: String
        public var code: Int32
    }

    /// Connects to 127.0.0.1, or ::1. Calls give up after `timeout` seconds: the server under test waits for threads that tests
    /// compute on.
    ///
    /// - Parameter receiveBuffer: Receive buffer in bytes; `nil`: the system's default.
    public init(port: UInt16, ipv6: Bool = false, timeout: Int = 120, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(ipv6 ? AF_INET6 : AF_INET, streamKind, 0)
        var seconds = timeval(tv_sec: timeout, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &seconds, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &seconds, size)
        if var receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
        let code: Int32
        if ipv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            code = connect(&address)
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            code = connect(&address)
        }
        guard code == 0 else { throw Failure(call: "connect", code: errno) }
    }

    fileprivate init(accepted descriptor: Int32) { self.descriptor = descriptor }

    deinit { Glibc.close(descriptor) }

    private func connect<Address>(_ address: inout Address) -> Int32 {
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }

    public func send(_ text: String) throws { try send(Array(text.utf8)) }

    public func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure(call: "send", code: errno) }
            sent += count
        }
    }

    /// Receives the next bytes; empty once the peer has closed.
    public func receive() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        var count = 0
        // A signal interrupts a call with a time limit even if its handler asks for a restart.
        repeat { count = recv(descriptor, &buffer, buffer.count, 0) } while count < 0 && errno == EINTR
        guard count >= 0 else { throw Failure(call: "recv", code: errno) }
        return Array(buffer[..<count])
    }

    /// Receives everything until the peer closes.
    public func receiveAll() throws -> String {
        var all: [UInt8] = []
        while case let bytes = try receive(), !bytes.isEmpty { all += bytes }
        return String(decoding: all, as: UTF8.self)
    }

    /// Receives until `text` has arrived, including later bytes of the same packet.
    public func receive(until text: String) throws -> String {
        var all: [UInt8] = []
        while !String(decoding: all, as: UTF8.self).contains(text) {
            let bytes = try receive()
            guard !bytes.isEmpty else {
                throw Failure(call: "closed before \(text); got \(String(decoding: all, as: UTF8.self))", code: 0)
            }
            all += bytes
        }
        return String(decoding: all, as: UTF8.self)
    }

    /// Closes the sending half.
    public func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }
}

/// A listening socket on 127.0.0.1 for a server scripted by a test. Use it inside `onThread`.
public final class SocketListener: @unchecked Sendable {
    private let descriptor: Int32
    public let port: UInt16

    public init() throws {
        descriptor = socket(AF_INET, streamKind, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isBound else { throw SocketClient.Failure(call: "listen", code: errno) }
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { Glibc.close(descriptor) }

    /// Waits for the next connection.
    public func accept() throws -> SocketClient {
        let accepted = Glibc.accept(descriptor, nil, nil)
        guard accepted >= 0 else { throw SocketClient.Failure(call: "accept", code: errno) }
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        return SocketClient(accepted: accepted)
    }

    /// Makes `accept` throw, also in a thread that waits in it.
    public func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

/// Runs blocking code on a new thread.
public func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        startThread { continuation.resume(with: Result { try body() }) }
    }
}

private final class ThreadBody {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private func startThread(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    pthread_create(&thread, nil, runThread, Unmanaged.passRetained(ThreadBody(body)).toOpaque())
    pthread_detach(thread)
}

private func runThread(_ body: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let body { Unmanaged<ThreadBody>.fromOpaque(body).takeRetainedValue().run() }
    return nil
}
