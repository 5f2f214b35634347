package import HTTP
import LocalLLM

/// One row of the route table: method, paths, access, limits and handler.
package struct Route: Sendable {
    package typealias Handler = @Sendable (RequestContext, Services) async throws -> Response

    /// Who may use a route of a server that requires keys.
    package enum Access: Sendable, Equatable {
        /// Everyone, including a browser that follows a link from another site.
        case everyone
        /// Clients with one of these credentials.
        case clients(Credentials)
        /// The handler authenticates the request itself.
        case checkedByHandler
    }

    /// Limits of one request.
    struct Limits: Sendable, Equatable {
        /// Maximum body size.
        var bodyBytes = 8 << 20
        /// Whether a body may have images: on a server that sees them, the maximum is then `imageBodyBytes`.
        var takesImages = false
        /// Whether the request is rate limited. Only `POST` is, by default.
        var isCounted: Bool
    }

    /// Maximum body size with images: one file of the largest size that is read, in base64, and 8 MiB of text.
    static let imageBodyBytes = 4 * ((RGBImage.Limits().bytes + 2) / 3) + 8 << 20

    let method: String
    /// The first one names the route in the metrics; the others are other servers' paths for the same route.
    package let paths: [PathPattern]
    let access: Access
    let limits: Limits
    let errors: ErrorForm
    let handler: Handler

    package init(
        _ method: String, _ path: PathPattern, _ otherPaths: PathPattern..., access: Access = .clients(.standard),
        bodyBytes: Int = 8 << 20, takesImages: Bool = false, errors: ErrorForm = .openAI, handler: @escaping Handler
    ) {
        self.method = method
        paths = [path] + otherPaths
        self.access = access
        limits = Limits(bodyBytes: bodyBytes, takesImages: takesImages, isCounted: method == "POST")
        self.errors = errors
        self.handler = handler
    }

    /// Maximum bytes of a body.
    ///
    /// - Parameter seesImages: Whether the server's model sees images.
    func bodyLimit(seesImages: Bool) -> Int {
        seesImages && limits.takesImages ? Self.imageBodyBytes : limits.bodyBytes
    }

    var name: String { paths[0].text.replacing("*}", with: "}") }
}

/// A path with named placeholders: `{id}` matches one segment, `{id*}` at the end the rest, slashes included. A
/// placeholder matches at least one byte.
package struct PathPattern: Sendable, ExpressibleByStringLiteral {
    private enum Part: Sendable {
        case literal([UInt8])
        case segment(name: String)
        case rest(name: String)
    }

    let text: String
    /// The parts in order. Slashes are in the literals.
    private let parts: [Part]

    package init(stringLiteral text: String) {
        self.text = text
        parts = text.split(separator: "{", omittingEmptySubsequences: false).enumerated().flatMap { index, piece in
            let piece = String(piece)
            guard index > 0 else { return piece.isEmpty ? [] : [Part.literal(Array(piece.utf8))] }
            let halves = piece.split(separator: "}", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let placeholder: Part =
                halves[0].hasSuffix("*") ? .rest(name: String(halves[0].dropLast())) : .segment(name: halves[0])
            return halves[1].isEmpty ? [placeholder] : [placeholder, .literal(Array(halves[1].utf8))]
        }
    }

    /// The placeholders' values, or `nil` for a path that does not match. Paths compare as bytes: Swift's `==` would
    /// also match other spellings of a character.
    package func match(_ path: String) -> [String: String]? {
        var rest = Array(path.utf8)[...]
        var values: [String: String] = [:]
        for part in parts {
            switch part {
            case .literal(let bytes):
                guard rest.starts(with: bytes) else { return nil }
                rest = rest.dropFirst(bytes.count)
            case .segment(let name):
                let segment = rest.prefix { $0 != UInt8(ascii: "/") }
                guard !segment.isEmpty else { return nil }
                values[name] = String(decoding: segment, as: UTF8.self)
                rest = rest.dropFirst(segment.count)
            case .rest(let name):
                guard !rest.isEmpty else { return nil }
                values[name] = String(decoding: rest, as: UTF8.self)
                rest = []
            }
        }
        return rest.isEmpty ? values : nil
    }
}
