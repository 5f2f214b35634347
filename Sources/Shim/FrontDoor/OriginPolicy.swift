import Foundation
import HTTP
import Wire

/// The web origins that may use the server, and the host names it answers to.
///
/// A page can make its visitor's browser send requests to this machine. `Origin` or `Sec-Fetch-Site` reveal that; with
/// DNS rebinding, where the page's own host name points at this machine, `Host` does. Other programs than browsers send
/// no `Origin` and are not restricted here.
struct OriginPolicy: Sendable {
    /// Origins whose pages may use the server, as `https://example.org:8443`; `*`: all.
    var corsOrigins: [String] = []
    /// Accepted names besides this machine's own, in `Host` and in origins: the server's names behind a proxy.
    var hosts: [String] = []
    /// How `Host` is checked.
    var hostCheck = HostCheck.loopback

    enum HostCheck: Sendable {
        /// `Host` must be in `hosts` or a loopback name.
        case loopback
        /// IP addresses are accepted too: DNS rebinding needs a name.
        case addresses
        /// No check: the key protects the server.
        case none
    }

    /// Refuses a request that a foreign page may have caused.
    ///
    /// - Parameter isOpen: Whether the route is open to everyone. Links on other sites may lead to it, and the page's own
    ///   modules come with an `Origin` that is not the `Host` of a proxy.
    func check(_ request: Request, isOpen: Bool) throws(APIError) {
        let host = request.headers["Host"] ?? ""
        guard hostCheck == .none || host.isEmpty || isKnown(Self.name(host)) else {
            throw .forbidden(
                "Unknown host name `\(host)`. To allow it, start the server with --allowed-host.",
                "forbidden_host")
        }
        let site = request.headers["Sec-Fetch-Site"]
        // The browser compares the addresses that it knows, also where a proxy has replaced `Host`; no page can set this.
        guard !isOpen, site != "same-origin" else { return }
        if let origin = request.headers["Origin"] {
            guard allows(origin) || isSame(origin, host) else {
                throw .forbidden(
                    "Pages of `\(origin)` may not use this server. To allow them, start it with --cors-origin.",
                    "forbidden_origin")
            }
        } else if let site, site != "none" {
            throw .forbidden("Pages of other origins may not use this server.", "forbidden_origin")
        }
    }

    func allows(_ origin: String) -> Bool {
        corsOrigins.contains { $0 == "*" || $0.utf8.elementsEqual(origin.utf8) }
    }

    /// Whether `origin` is this server's own: name and port as in `Host`, or over HTTPS one of `hosts`, whose proxy
    /// replaced `Host`. Another port of this machine is another origin.
    private func isSame(_ origin: String, _ host: String) -> Bool {
        guard let scheme = origin.range(of: "://") else { return false }
        let authority = origin[scheme.upperBound...].lowercased()
        let isBehindProxy =
            origin[..<scheme.lowerBound].lowercased() == "https" && !isLoopback(Self.name(authority))
            && hosts.contains { $0.lowercased().utf8.elementsEqual(authority.utf8) }
        return authority.utf8.elementsEqual(host.lowercased().utf8) || isBehindProxy
    }

    private func isKnown(_ name: String) -> Bool {
        isListed(name) || isLoopback(name) || (hostCheck == .addresses && Self.isAddress(name))
    }

    private func isListed(_ name: String) -> Bool {
        !name.isEmpty
            && hosts.map { $0.lowercased() }.contains {
                $0.utf8.elementsEqual(name.utf8) || Self.name($0).utf8.elementsEqual(name.utf8)
            }
    }

    /// Host or address without port and brackets, in lower case.
    private static func name(_ authority: String) -> String {
        let host =
            authority.utf8.first == UInt8(ascii: "[")
            ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        return host.lowercased()
    }

    private static func isAddress(_ name: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1
    }
}

extension APIError {
    fileprivate static func forbidden(_ message: String, _ code: String) -> Self {
        .init(status: 403, kind: .invalidRequest, message: message, code: code)
    }
}
