import CLinux
import Platform

/// A listening socket.
struct ListeningSocket: Sendable {
    var descriptor: Int32
    var port: UInt16
    /// The address as `127.0.0.1:8080` or `[::1]:8080`.
    var address: String

    /// Listens on every address of a host. With port 0 the system chooses one port for all of them.
    static func open(host: String, port: UInt16) throws(NetworkError) -> [Self] {
        var sockets: [Self] = []
        var lastError: NetworkError?
        for address in try SocketAddress.all(of: host, port: port, flags: AI_PASSIVE) {
            // A host name in /etc/hosts may have the same address twice.
            guard !sockets.contains(where: { $0.address == address.with(port: $0.port).description }) else { continue }
            do throws(NetworkError) {
                sockets.append(try open(address.with(port: sockets.first?.port ?? port)))
            } catch  where error.reason == .addressUnavailable {
                lastError = error  // such as ::1 on a machine without IPv6; the other address suffices
            } catch {
                for socket in sockets { close(socket.descriptor) }
                throw error
            }
        }
        guard sockets.isEmpty else { return sockets }
        throw lastError ?? .init(reason: .addressUnavailable, message: "host \(host) has no address")
    }

    private static func open(_ address: SocketAddress) throws(NetworkError) -> Self {
        let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let descriptor = socket(Int32(address.family), Int32(kind), 0)
        guard descriptor >= 0 else { throw failure(address, errno) }
        setOption(descriptor, SOL_SOCKET, SO_REUSEADDR)
        if address.family == AF_INET6 { setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY) }
        guard address.withPointer({ bind(descriptor, $0, $1) }) == 0, listen(descriptor, 512) == 0 else {
            let code = errno
            close(descriptor)
            throw failure(address, code)
        }
        let bound = SocketAddress { getsockname(descriptor, $0, $1) } ?? address
        return Self(descriptor: descriptor, port: bound.port, address: bound.description)
    }

    private static func failure(_ address: SocketAddress, _ code: Int32) -> NetworkError {
        let text = "cannot listen on \(address): \(String(cString: strerror(code)))"
        return switch code {
        case EADDRINUSE: .init(reason: .addressInUse, message: text)
        case EADDRNOTAVAIL, EAFNOSUPPORT, EACCES, EPERM: .init(reason: .addressUnavailable, message: text)
        default: .init(reason: .system, message: text)
        }
    }
}

func setOption(_ descriptor: Int32, _ level: Int32, _ name: Int32) {
    var on: Int32 = 1
    setsockopt(descriptor, level, name, &on, socklen_t(MemoryLayout<Int32>.size))
}

/// An IPv4 or IPv6 address with its port.
struct SocketAddress: CustomStringConvertible {
    private var storage = sockaddr_storage()
    private var length = socklen_t(MemoryLayout<sockaddr_storage>.size)

    init?(_ address: UnsafePointer<sockaddr>?, _ length: socklen_t) {
        guard let address, length <= MemoryLayout<sockaddr_storage>.size else { return nil }
        withUnsafeMutableBytes(of: &storage) { $0.copyMemory(from: .init(start: address, count: Int(length))) }
        self.length = length
        guard family == AF_INET || family == AF_INET6 else { return nil }
    }

    /// Resolves a name or numeric address; in the system's order of preference. Blocks during the DNS lookup.
    static func all(of host: String, port: UInt16, flags: Int32 = 0) throws(NetworkError) -> [Self] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else {
            throw .init(reason: .addressUnavailable, message: "host \(host): \(String(cString: gai_strerror(code)))")
        }
        defer { freeaddrinfo(list) }
        return sequence(first: list, next: { $0?.pointee.ai_next }).compactMap { entry in
            entry.flatMap { Self($0.pointee.ai_addr, $0.pointee.ai_addrlen) }
        }
    }

    /// The address that a system call fills in; `nil` if it returns a negative number.
    init?(_ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32) {
        var length = length
        let code = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
        }
        guard code >= 0 else { return nil }
        self.length = length
    }

    var family: Int32 { Int32(storage.ss_family) }

    /// IPv4 and IPv6 addresses both have the port at byte 2.
    var port: UInt16 {
        withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
    }

    func with(port: UInt16) -> Self {
        var copy = self
        withUnsafeMutableBytes(of: &copy.storage) {
            $0.storeBytes(of: port.bigEndian, toByteOffset: 2, as: UInt16.self)
        }
        return copy
    }

    func withPointer<T>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
        withUnsafePointer(to: storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    var description: String {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let code = withPointer { getnameinfo($0, $1, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) }
        guard code == 0 else { return "unknown" }
        let host = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return family == AF_INET6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
