import Platform

/// An IPv4 or IPv6 address as 16 bytes; IPv4 is mapped, `::ffff:a.b.c.d`.
struct NetworkAddress: Equatable {
    let bytes: [UInt8]

    /// - Parameter text: A numeric address without a port; IPv6 with or without brackets.
    init?(_ text: some StringProtocol) {
        var text = Substring(text)
        if text.utf8.first == UInt8(ascii: "["), text.utf8.last == UInt8(ascii: "]") {
            text = text.dropFirst().dropLast()
        }
        var old = in_addr()
        var new = in6_addr()
        if inet_pton(AF_INET, String(text), &old) == 1 {
            bytes = Array(repeating: 0, count: 10) + [0xff, 0xff] + withUnsafeBytes(of: old) { Array($0) }
        } else if inet_pton(AF_INET6, String(text), &new) == 1 {
            bytes = withUnsafeBytes(of: new) { Array($0) }
        } else {
            return nil
        }
    }

    var isIPv4: Bool { bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff }

    /// The unit of limits: an IPv4 address or an IPv6 /64, since one host usually has a whole /64.
    var network: String {
        isIPv4
            ? bytes.suffix(4).map(String.init).joined(separator: ".")
            : bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ":")
    }
}

/// The unit of limits for a peer `host:port`: its IPv4 address, or its IPv6 /64, since one host usually has a whole
/// /64. A peer that is no address is returned without its port.
package func network(of peer: String) -> String {
    let address = peer.utf8.lastIndex(of: UInt8(ascii: ":")).map { peer[..<$0] } ?? peer[...]
    return NetworkAddress(address)?.network ?? String(address)
}

/// Ranges of addresses.
struct NetworkRanges: Sendable {
    private struct Range {
        let address: NetworkAddress
        /// Prefix length, of the 128 bits of a mapped address.
        let prefix: Int
    }

    private var ranges: [Range] = []

    var isEmpty: Bool { ranges.isEmpty }

    /// - Parameter text: An address or a CIDR range such as `10.0.0.0/8`.
    /// - Returns: Whether `text` is valid.
    mutating func insert(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = NetworkAddress(parts[0]) else { return false }
        let bits = address.isIPv4 ? 32 : 128
        guard let prefix = parts.count == 1 ? bits : Int(parts[1]), (0...bits).contains(prefix) else { return false }
        ranges.append(Range(address: address, prefix: 128 - bits + prefix))
        return true
    }

    func contain(_ address: NetworkAddress) -> Bool {
        ranges.contains { range in
            let (whole, rest) = range.prefix.quotientAndRemainder(dividingBy: 8)
            let mask = UInt8(truncatingIfNeeded: 0xff00 >> rest)
            return address.bytes.prefix(whole) == range.address.bytes.prefix(whole)
                && (rest == 0 || (address.bytes[whole] ^ range.address.bytes[whole]) & mask == 0)
        }
    }
}

/// Trusted proxies in front of the server. Their `X-Forwarded-For` is believed, and limits apply to each of their
/// clients.
package struct TrustedProxies: Sendable {
    private var ranges = NetworkRanges()

    package init() {}

    /// - Parameter text: An address or a CIDR range such as `10.0.0.0/8`.
    /// - Returns: Whether `text` is valid.
    package mutating func insert(_ text: String) -> Bool { ranges.insert(text) }

    func contain(_ address: NetworkAddress) -> Bool { ranges.contain(address) }

    /// Whether a peer, as `host:port`, is a trusted proxy.
    func contain(peer: String) -> Bool {
        guard !ranges.isEmpty, let colon = peer.utf8.lastIndex(of: UInt8(ascii: ":")) else { return false }
        return NetworkAddress(peer[..<colon]).map(contain) ?? false
    }

    /// The client's network. Behind trusted proxies it is the last address in `X-Forwarded-For` that is not a proxy;
    /// the client can forge earlier ones.
    func network(of peer: String, _ headers: Headers) -> String {
        guard contain(peer: peer) else { return HTTP.network(of: peer) }
        let hops = headers.all("X-Forwarded-For").flatMap { $0.split(separator: ",") }
        for hop in hops.reversed() {
            // Some proxies add the port.
            let text = String(hop.filter { $0 != " " && $0 != "\t" })
            guard
                let address = NetworkAddress(text)
                    ?? text.utf8.lastIndex(of: UInt8(ascii: ":")).flatMap({ NetworkAddress(text[..<$0]) })
            else { break }
            if !contain(address) { return address.network }
        }
        return HTTP.network(of: peer)
    }
}
