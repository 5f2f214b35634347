import Foundation
import HTTP
import Synchronization
import Wire

/// Limits requests per caller with token buckets.
package final class RateLimiter: Sendable {
    /// The unit that is limited: a key's owner, or an address if there are no keys. A key that every copy of an app has
    /// is limited per address, so that no device can use up everyone's share.
    package struct Caller: Hashable, Sendable {
        let principal: Principal?
        let address: String?

        package init(_ principal: Principal?, at address: String) {
            self.principal = principal
            self.address = principal?.isManyDevices ?? true ? address : nil
        }
    }

    /// A caller's quota after a request.
    package struct Standing: Sendable {
        let limit: Int
        let remaining: Int
        /// Time until the bucket is full.
        let reset: Duration
        /// Time until the next request may pass; `nil` if this one does.
        let wait: Duration?
    }

    private struct Bucket {
        var tokens: Double
        var filled: ContinuousClock.Instant
    }

    private let limit: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let mostBuckets: Int
    private let buckets = Mutex<[Caller: Bucket]>([:])

    /// - Parameters:
    ///   - limit: Requests per minute, and the maximum burst.
    ///   - mostBuckets: Maximum number of callers. Beyond it, the fullest buckets are dropped first.
    package init(
        perMinute limit: Int, mostBuckets: Int = 10_000,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.limit = limit
        self.mostBuckets = mostBuckets
        self.now = now
    }

    var bucketCount: Int { buckets.withLock { $0.count } }

    /// - Returns: Time until the caller may send a request; `nil`: now.
    package func wait(for caller: Caller) -> Duration? {
        let now = now()
        let tokens = buckets.withLock { $0[caller].map { filled($0, now) } } ?? Double(limit)
        return tokens >= 1 ? nil : time(for: 1 - tokens)
    }

    /// - Parameter cost: Tokens to take, at most 1.
    package func take(_ caller: Caller, cost: Double = 1) -> Standing {
        let now = now()
        return buckets.withLock { buckets in
            if buckets[caller] == nil, buckets.count >= mostBuckets { makeRoom(in: &buckets, now) }
            var tokens = buckets[caller].map { filled($0, now) } ?? Double(limit)
            let mayPass = tokens >= cost
            if mayPass { tokens -= cost }
            buckets[caller] = Bucket(tokens: tokens, filled: now)
            return Standing(
                limit: limit, remaining: Int(tokens), reset: time(for: Double(limit) - tokens),
                wait: mayPass ? nil : time(for: cost - tokens))
        }
    }

    private func filled(_ bucket: Bucket, _ now: ContinuousClock.Instant) -> Double {
        min(Double(limit), bucket.tokens + (now - bucket.filled) / .seconds(60) * Double(limit))
    }

    private func time(for tokens: Double) -> Duration { .seconds(tokens * 60 / Double(limit)) }

    /// Drops a tenth of the buckets at once, so that not every new caller causes a sort.
    private func makeRoom(in buckets: inout [Caller: Bucket], _ now: ContinuousClock.Instant) {
        let byTokens = buckets.map { ($0.key, filled($0.value, now)) }.sorted { $0.1 > $1.1 }
        for (caller, _) in byTokens.prefix(max(1, mostBuckets / 10)) { buckets[caller] = nil }
    }
}

extension RateLimiter {
    private static let networkShare = 8.0

    /// Runs `next` or refuses the request; either way the response has OpenAI's rate-limit headers.
    func limiting(_ context: RequestContext, _ next: () async throws -> Response) async throws -> Response {
        let network = context.request.network
        var standing = take(Caller(context.principal, at: network))
        // A device can open many sessions: those of one address together get `networkShare` times the limit of one.
        if var principal = context.principal, principal.session != nil, standing.wait == nil {
            principal.session = nil
            let ofNetwork = take(Caller(principal, at: network), cost: 1 / Self.networkShare)
            if ofNetwork.wait != nil { standing = ofNetwork }
        }
        var response: Response
        do {
            if let wait = standing.wait { throw APIError.tooManyRequests(limit: limit, wait: wait) }
            response = try await next()
        } catch  where !Task.isCancelled {
            response = errorResponse(error, context.trace)
        }
        response.headers["x-ratelimit-limit-requests"] = "\(standing.limit)"
        response.headers["x-ratelimit-remaining-requests"] = "\(standing.remaining)"
        response.headers["x-ratelimit-reset-requests"] = "\(Int((standing.reset / .milliseconds(1)).rounded(.up)))ms"
        return response
    }
}

extension APIError {
    fileprivate static func tooManyRequests(limit: Int, wait: Duration) -> Self {
        var error = APIError(
            status: 429, kind: .rateLimit, message: "Rate limit reached: \(limit) requests a minute.",
            code: "rate_limit_exceeded")
        error.retryAfter = Int((wait / .seconds(1)).rounded(.up))
        return error
    }
}
