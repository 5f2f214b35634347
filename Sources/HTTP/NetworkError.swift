import Platform

/// Why a server or client could not be set up: address, certificate or system call.
package struct NetworkError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Reason: Sendable {
        case addressInUse
        /// The host is not an address of this machine, or the port requires privileges.
        case addressUnavailable
        /// The certificate or its key cannot be used.
        case certificate
        case system
    }

    package var reason: Reason
    /// What failed and why, as shown to users.
    package var message: String

    package var description: String { message }

    static func system(_ call: String, _ code: Int32 = errno) -> Self {
        .init(reason: .system, message: "\(call): \(String(cString: strerror(code)))")
    }
}

/// The server has stopped and its grace period for running requests is over.
package struct ServerStopped: Error {
    package init() {}
}
