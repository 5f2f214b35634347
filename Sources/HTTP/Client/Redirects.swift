package import FoundationEssentials

extension HTTPClient {
    private static let mostRedirects = 10

    /// Sends `GET` and follows redirects, at most 10.
    ///
    /// - Parameters:
    ///   - limits: `whole` is for all responses together.
    ///   - reach: Servers that may be asked, for this URL and for the targets of redirects.
    ///   - headers: Headers for a URL. Called for each redirect, so that secrets can be limited to their host.
    ///   - redirect: Called with each redirect and its target before it is followed; throws to refuse it. The target is
    ///     `nil` if the response names none.
    /// - Returns: The first response that is not a redirect, and its URL.
    /// - Throws: `ClientError`; `NetworkError` if the system's certificates cannot be read; `CancellationError`; errors
    ///   of `redirect`.
    package static func get(
        _ url: URL, limits: Limits = .init(), reach: ClientReach = .everywhere, headers: (URL) -> Headers,
        redirect: (_ answer: ClientResponse, _ from: URL, _ place: URL?) throws -> Void
    ) async throws -> (answer: ClientResponse, url: URL) {
        let (first, end) = (url, ContinuousClock.now + limits.whole)
        var (url, limits) = (url, limits)
        for _ in 0...mostRedirects {
            guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
                var client = try HTTPClient(parts)
            else { throw ClientError.notConnected("'\(url)' is not an http or https URL") }
            client.reach = reach
            limits.whole = max(.zero, ContinuousClock.now.duration(to: end))
            client.limits = limits
            let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
            let target = path + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
            let answer = try await client.send("GET", target, headers: headers(url))
            guard [301, 302, 303, 307, 308].contains(answer.status) else { return (answer, url) }
            let place = answer.headers["Location"].flatMap { URL(string: $0, relativeTo: url)?.absoluteURL }
            try redirect(answer, url, place)
            guard let place else { return (answer, url) }
            url = place
        }
        throw ClientError.notConnected("\(first): more than \(mostRedirects) redirects")
    }
}
