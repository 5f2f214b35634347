import HTTP
import Wire

/// `GET /` and the files that it names: the page to chat on.
@Sendable func showPage(_ context: RequestContext, _ services: Services) throws -> Response {
    guard let file = PageFile.all[context.request.path] else { throw APIError.nothing(at: context.request.path) }
    return file.answer(context.request)
}

/// A file of the page to chat on. They are in the program itself, so that it needs nothing beside it.
struct PageFile: Sendable {
    private let type: String
    private let content: [UInt8]
    private let tag: String

    private init(_ type: String, _ content: [UInt8]) {
        self.type = type
        self.content = content
        tag = "\"\(String(fnv1a(content), radix: 16))\""
    }

    /// By path. They need no key: they hold nothing secret, and a browser sends none when it opens a page.
    static let all: [String: PageFile] = {
        let script = "text/javascript; charset=utf-8"
        return [
            "/": .init("text/html; charset=utf-8", PackageResources.index_html),
            "/page/style.css": .init("text/css; charset=utf-8", PackageResources.style_css),
            "/page/icon.svg": .init("image/svg+xml", PackageResources.icon_svg),
            "/page/chat.js": .init(script, PackageResources.chat_js),
            "/page/answer.js": .init(script, PackageResources.answer_js),
            "/page/messages.js": .init(script, PackageResources.messages_js),
            "/page/notice.js": .init(script, PackageResources.notice_js),
            "/page/theme.js": .init(script, PackageResources.theme_js),
            "/page/keys.js": .init(script, PackageResources.keys_js),
            "/page/models.js": .init(script, PackageResources.models_js),
            "/page/sidebar.js": .init(script, PackageResources.sidebar_js),
            "/page/dialogs.js": .init(script, PackageResources.dialogs_js),
            "/page/api.js": .init(script, PackageResources.api_js),
            "/page/store.js": .init(script, PackageResources.store_js),
            "/page/markdown.js": .init(script, PackageResources.markdown_js),
            "/page/inline.js": .init(script, PackageResources.inline_js),
            "/page/dom.js": .init(script, PackageResources.dom_js),
        ]
    }()

    /// Nothing but this server's own files and answers; no text can become markup or script, whatever a model says.
    private static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ].joined(separator: "; ")

    /// The file, or a 304 to a browser that has it. Browsers ask each time, so that a new version is seen at once.
    func answer(_ request: Request) -> Response {
        let headers: Headers = [
            "Content-Type": type, "ETag": tag, "Cache-Control": "no-cache", "Content-Security-Policy": Self.policy,
            "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
        ]
        let isKnown = request.headers["If-None-Match"]?.contains(tag) ?? false
        return Response(status: isKnown ? 304 : 200, headers: headers, body: .bytes(isKnown ? [] : content))
    }
}
