import ChatPage
import HTTP
import Wire

/// `GET /` and `/page/…`: the chat page, its files, and the libraries of Debian packages that it uses.
@Sendable func showPage(_ context: RequestContext, _ services: Services) throws -> Response {
    let path = context.request.path
    guard let file = try PageFile.all[path] ?? PageLibrary.file(at: path) else { throw APIError.nothing(at: path) }
    return file.answer(context.request)
}

/// A file of the page. The page's own files are embedded in the program.
struct PageFile: Sendable {
    private let type: String
    private let content: [UInt8]
    private let tag: String
    private let policy: String

    init(_ type: String, _ content: [UInt8], _ sources: Sources = Sources()) {
        self.type = type
        self.content = content
        tag = "\"\(String(fnv1a(content), radix: 16))\""
        policy = Self.policy(sources)
    }

    /// Source lists of the content security policy that differ between the documents.
    struct Sources {
        var images = "'self'"
        var connections = "'self'"
        var frames = "'none'"
        /// Documents that may show this one in a frame.
        var ancestors = "'none'"
    }

    static let script = "text/javascript; charset=utf-8"
    static let style = "text/css; charset=utf-8"
    private static let types = ["html": "text/html; charset=utf-8", "js": script, "css": style, "svg": "image/svg+xml"]

    /// Of documents that may load more than this server's files, or be shown in a frame.
    private static let sources = [
        // Images that are attached to messages are shown from the browser's own memory.
        "index.html": Sources(images: "'self' blob:", frames: "'self'"),
        // The images API returns URLs, which may be anywhere.
        "images.html": Sources(images: "'self' blob: data: https: http:"),
        // In a frame of the page, which alone may call the tools that a user has named.
        "tools.html": Sources(connections: "'self' https: http:", ancestors: "'self'"),
        // In a frame that reads PDF files with a library.
        "pdf.html": Sources(connections: "'none'", ancestors: "'self'"),
    ]

    /// Files by path. They need no key: they hold no secrets, and browsers send no key when they open a page.
    static let all: [String: PageFile] = {
        var all: [String: PageFile] = [:]
        for (name, content) in pageFiles {
            let type = types.first { name.hasSuffix(".\($0.key)") }?.value ?? "application/octet-stream"
            all[name == "index.html" ? "/" : "/page/\(name)"] = PageFile(type, content, sources[name] ?? Sources())
        }
        return all
    }()

    /// Allows only this server's files and responses; a model's text can never become markup or script.
    private static func policy(_ sources: Sources) -> String {
        [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "font-src 'self'",
            "img-src \(sources.images)", "connect-src \(sources.connections)", "frame-src \(sources.frames)",
            "base-uri 'none'", "form-action 'none'", "frame-ancestors \(sources.ancestors)",
            "require-trusted-types-for 'script'", "trusted-types 'none'",
        ].joined(separator: "; ")
    }

    /// The file, or a 304 if the browser has it. Browsers revalidate each time, so a new version takes effect at once.
    func answer(_ request: Request) -> Response {
        let headers: Headers = [
            "Content-Type": type, "ETag": tag, "Cache-Control": "no-cache", "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
        ]
        let isKnown = request.headers["If-None-Match"]?.contains(tag) ?? false
        return Response(status: isKnown ? 304 : 200, headers: headers, body: .bytes(isKnown ? [] : content))
    }
}
