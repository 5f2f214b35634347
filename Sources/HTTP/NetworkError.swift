import Glibc

/// Why an address, a certificate or a call of the system that a server or client needs could not be had.
public struct NetworkError: Error, Equatable, Sendable, CustomStringConvertible {
    public enum Reason: Sendable {
        case addressInUse
        /// The host is no address of this machine, or the port needs rights that this process lacks.
        case addressUnavailable
        /// The certificate or its key cannot be used.
        case certificate
        case system
    }

    public var reason: Reason
    public var message: String

    public var description: String { message }

    static func system(_ call: String, _ code: Int32 = errno) -> Self {
        .init(reason: .system, message: "\(call): \(String(cString: strerror(code)))")
    }
}

/// The server has stopped, and the time that running requests had after that is over.
public struct ServerStopped: Error {
    public init() {}
}
