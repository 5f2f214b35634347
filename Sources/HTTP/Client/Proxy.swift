import FoundationEssentials
import Platform

/// An HTTP proxy. Plain requests are forwarded; TLS goes through a tunnel (`CONNECT`, RFC 9110, section 9.3.6).
struct Proxy: Hashable, Sendable {
    let host: String
    let port: UInt16
    /// The value of `Proxy-Authorization`.
    let authorization: String?

    /// The proxy for a host from the environment, read like curl: `http_proxy`, `https_proxy` and `all_proxy`, the
    /// latter two also in capitals, with exceptions in `no_proxy`. Loopback addresses never use a proxy.
    ///
    /// - Throws: `ClientError.notConnected` for a value other than `http://[USER:PASSWORD@]HOST[:PORT]`.
    init?(to host: String, usesTLS: Bool, _ environment: (String) -> String?) throws(ClientError) {
        guard !isLoopback(host), !Self.isExcepted(host, environment("no_proxy") ?? environment("NO_PROXY") ?? "")
        else { return nil }
        // Not HTTP_PROXY: under CGI, a client's header `Proxy` sets it.
        let names = (usesTLS ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]) + ["all_proxy", "ALL_PROXY"]
        guard let name = names.first(where: { environment($0)?.isEmpty == false }), let text = environment(name)
        else { return nil }
        guard let url = URLComponents(string: text.contains("://") ? text : "http://\(text)"), url.scheme == "http",
            let address = url.hostAndPort, ["", "/"].contains(url.path)
        else {
            // The value may hold a password.
            throw .notConnected("the environment variable \(name): expected http://HOST:PORT")
        }
        (self.host, port) = address
        authorization = url.user.map { user in
            "Basic " + Data("\(user):\(url.password ?? "")".utf8).base64EncodedString()
        }
    }

    /// - Parameter list: Comma-separated names, each including its subdomains; `*` is every host.
    private static func isExcepted(_ host: String, _ list: String) -> Bool {
        let host = host.lowercased()
        return list.lowercased().split(whereSeparator: { ", ".contains($0) }).contains { entry in
            let name = entry.drop { $0 == "." }
            return entry == "*" || host == name || (!name.isEmpty && host.hasSuffix("." + name))
        }
    }
}

/// Whether a name or numeric address is a loopback one.
package func isLoopback(_ host: String) -> Bool {
    if host.lowercased() == "localhost" || host == "::1" { return true }
    var address = in_addr()
    return inet_pton(AF_INET, host, &address) == 1 && UInt32(bigEndian: address.s_addr) >> 24 == 127
}

extension URLComponents {
    /// The percent-encoded host without brackets, and the port, by default the scheme's.
    var hostAndPort: (host: String, port: UInt16)? {
        guard let host = encodedHost, !host.isEmpty, host.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
            let port = UInt16(exactly: port ?? (scheme?.lowercased() == "https" ? 443 : 80)), port > 0
        else { return nil }
        return (host.utf8.first == UInt8(ascii: "[") ? String(host.dropFirst().dropLast()) : host, port)
    }
}
