/// Which servers a client may ask.
package enum ClientReach: Hashable, Sendable {
    case everywhere
    /// Only those whose address belongs to the public internet. The address that is checked is the one that is connected
    /// to, whatever a name stands for a moment later. Proxies are not asked: they would look the name up again.
    case publicAddresses
}

extension NetworkAddress {
    /// Whether the address belongs to the public internet by IANA's registries of special-purpose addresses. IPv6 addresses
    /// that stand for an IPv4 address of somebody's choice (6to4, Teredo, NAT64) do not.
    var isPublic: Bool {
        isIPv4 ? !Self.special.contain(self) : Self.globalUnicast.contain(self) && !Self.special.contain(self)
    }

    private static let globalUnicast = ranges(["2000::/3"])

    private static let special = ranges([
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
        "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
    ])

    private static func ranges(_ texts: [String]) -> NetworkRanges {
        var ranges = NetworkRanges()
        for text in texts {
            let isRange = ranges.insert(text)
            assert(isRange, text)
        }
        return ranges
    }
}

extension SocketAddress {
    var isPublic: Bool {
        let text = description
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return false }
        return NetworkAddress(text[..<colon])?.isPublic ?? false
    }
}
