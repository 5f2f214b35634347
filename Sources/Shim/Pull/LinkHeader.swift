import HTTP

/// The target of the first link with a relation in the `Link` headers: `<https://example.org/?page=2>; rel="next"`
/// (RFC 8288).
func linkTarget(_ relation: String, in headers: Headers) -> String? {
    for value in headers.all("Link") {
        // A target and its parameters: up to a comma outside of quotes.
        for link in value.matches(of: /<([^<>]*)>((?:[^,"]|"[^"]*")*)/) {
            let parameter = link.2.firstMatch(of: /;\s*[rR][eE][lL]\s*=\s*(?:"([^"]*)"|([^\s;"]+))/)
            let relations = (parameter?.1 ?? parameter?.2 ?? "").split(separator: " ")
            if relations.contains(where: { $0.lowercased() == relation }) { return String(link.1) }
        }
    }
    return nil
}
