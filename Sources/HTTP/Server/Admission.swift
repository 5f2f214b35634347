import Platform

/// Counts open connections and buffered body bytes, in total and per network. Used on the event loop's thread only.
struct Admission {
    private struct Share {
        var connections = 0
        var bytes = 0
    }

    private let limits: Limits
    private var shares: [String: Share] = [:]
    private var connections = 0
    private var bytes = 0

    init(_ limits: Limits) { self.limits = limits }

    /// Whether all connections but the reserved ones are taken.
    var isFull: Bool { connections >= limits.connections }

    /// - Parameter network: Network of the client; `nil` for a trusted proxy, whose connections are not limited per
    ///   network.
    /// - Returns: Whether the connection is admitted.
    mutating func connect(_ network: String?) -> Bool {
        guard !isFull else { return false }
        if let network {
            guard shares[network]?.connections ?? 0 < limits.connectionsOfNetwork else { return false }
            shares[network, default: Share()].connections += 1
        }
        connections += 1
        return true
    }

    mutating func disconnect(_ network: String?) {
        connections -= 1
        guard let network else { return }
        shares[network]?.connections -= 1
        forget(network)
    }

    /// Counts received body bytes.
    ///
    /// - Throws: A `RequestError` with status 429 (network's limit) or 503 (server's limit).
    mutating func take(_ count: Int, of network: String) throws(RequestError) {
        guard (shares[network]?.bytes ?? 0) + count <= limits.bodyBytesOfNetwork else {
            throw RequestError(status: 429, message: "too many concurrent request bytes from this address")
        }
        guard bytes + count <= limits.bodyBytesAtOnce else {
            throw RequestError(status: 503, message: "the server has too many concurrent request bytes")
        }
        shares[network, default: Share()].bytes += count
        bytes += count
    }

    mutating func giveBack(_ count: Int, of network: String) {
        shares[network]?.bytes -= count
        bytes -= count
        forget(network)
    }

    private mutating func forget(_ network: String) {
        if let share = shares[network], share.connections <= 0, share.bytes <= 0 { shares[network] = nil }
    }
}
