import Glibc

/// Counts what clients hold at once, connections and bytes of bodies, in all and by network. Used on the event loop's thread
/// only.
struct Admission {
    private struct Share {
        var connections = 0
        var bytes = 0
    }

    private let limits: Limits
    private var shares: [String: Share] = [:]
    private var bytes = 0

    init(_ limits: Limits) { self.limits = limits }

    /// - Returns: Whether the network may have another connection.
    mutating func connect(_ network: String) -> Bool {
        guard shares[network]?.connections ?? 0 < limits.connectionsOfNetwork else { return false }
        shares[network, default: Share()].connections += 1
        return true
    }

    mutating func disconnect(_ network: String) {
        shares[network]?.connections -= 1
        forget(network)
    }

    /// Counts bytes of a body that have come.
    ///
    /// - Throws: 429 or 503 where they are too many.
    mutating func take(_ count: Int, of network: String) throws(RequestError) {
        guard (shares[network]?.bytes ?? 0) + count <= limits.bodyBytesOfNetwork else {
            throw RequestError(status: 429, message: "too many bytes of requests at once from this address")
        }
        guard bytes + count <= limits.bodyBytesAtOnce else {
            throw RequestError(status: 503, message: "the server has too many bytes of requests at once")
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

/// The address of `host:port` without its port; of IPv6 the first half, since a host has all of the second.
public func network(of peer: String) -> String {
    let address = peer.utf8.lastIndex(of: UInt8(ascii: ":")).map { peer[..<$0] } ?? peer[...]
    guard address.utf8.first == UInt8(ascii: "[") else { return String(address) }
    var bytes = in6_addr()
    guard inet_pton(AF_INET6, String(address.dropFirst().dropLast()), &bytes) == 1 else { return String(address) }
    let all = withUnsafeBytes(of: bytes) { Array($0) }
    // IPv4 in IPv6's clothes is IPv4.
    if all.prefix(10).allSatisfy({ $0 == 0 }), all[10] == 0xff, all[11] == 0xff {
        return all.suffix(4).map(String.init).joined(separator: ".")
    }
    return all.prefix(8).map { String($0, radix: 16) }.joined(separator: ":")
}
