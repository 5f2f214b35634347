public import FoundationEssentials

extension HTTPClient {
    private static let mostRedirects = 10

    /// Gets what a URL leads to.
    ///
    /// - Parameters:
    ///   - headers: What to send to a URL; a secret is for one host, not for those that it leads to.
    ///   - redirect: Sees each redirect, and where it leads, before it is followed; throws where it may not be followed.
    ///     The place is `nil` where the answer names none.
    /// - Returns: The first answer that is no redirect, and what was asked for it.
    /// - Throws: `ClientError`; `NetworkError` if the system's certificates cannot be read; `CancellationError`; what the
    ///   closures throw.
    public static func get(
        _ url: URL, limits: Limits = .init(), headers: (URL) -> Headers,
        redirect: (_ answer: ClientResponse, _ from: URL, _ place: URL?) throws -> Void
    ) async throws -> (answer: ClientResponse, url: URL) {
        let first = url
        var url = url
        for _ in 0...mostRedirects {
            guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
                let client = try HTTPClient(parts, limits: limits)
            else { throw ClientError.notConnected("'\(url)' is no URL of a web server") }
            let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
            let target = path + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
            let answer = try await client.send("GET", target, headers: headers(url))
            guard [301, 302, 303, 307, 308].contains(answer.status) else { return (answer, url) }
            let place = answer.headers["Location"].flatMap { URL(string: $0, relativeTo: url)?.absoluteURL }
            try redirect(answer, url, place)
            guard let place else { return (answer, url) }
            url = place
        }
        throw ClientError.notConnected("\(first) leads on and on: more than \(mostRedirects) redirects")
    }
}
