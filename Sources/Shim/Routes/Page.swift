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

    /// Files by path. They need no key: they hold no secrets, and browsers send no key when they open a page.
    static let all: [String: PageFile] = {
        let document = "text/html; charset=utf-8"
        return [
            // Images that are attached to messages are shown from the browser's own memory.
            "/": .init(document, PackageResources.index_html, Sources(images: "'self' blob:", frames: "'self'")),
            // The images API returns URLs, which may be anywhere.
            "/page/images.html": .init(
                document, PackageResources.images_html, Sources(images: "'self' blob: data: https: http:")),
            // In a frame of the page, which alone may call the tools that a user has named.
            "/page/tools.html": .init(
                document, PackageResources.tools_html, Sources(connections: "'self' https: http:", ancestors: "'self'")),
            // In a frame that reads PDF files with a library.
            "/page/pdf.html": .init(
                document, PackageResources.pdf_html, Sources(connections: "'none'", ancestors: "'self'")),
            "/page/autocomplete.html": .init(document, PackageResources.autocomplete_html),
            "/page/style.css": .init(style, PackageResources.style_css),
            "/page/icon.svg": .init("image/svg+xml", PackageResources.icon_svg),
            "/page/answer.js": .init(script, PackageResources.answer_js),
            "/page/api.js": .init(script, PackageResources.api_js),
            "/page/attach.js": .init(script, PackageResources.attach_js),
            "/page/autocomplete.js": .init(script, PackageResources.autocomplete_js),
            "/page/branches.js": .init(script, PackageResources.branches_js),
            "/page/calls.js": .init(script, PackageResources.calls_js),
            "/page/chat.js": .init(script, PackageResources.chat_js),
            "/page/database.js": .init(script, PackageResources.database_js),
            "/page/dialogs.js": .init(script, PackageResources.dialogs_js),
            "/page/documents.js": .init(script, PackageResources.documents_js),
            "/page/dom.js": .init(script, PackageResources.dom_js),
            "/page/drafts.js": .init(script, PackageResources.drafts_js),
            "/page/edit.js": .init(script, PackageResources.edit_js),
            "/page/engines.js": .init(script, PackageResources.engines_js),
            "/page/enrich.js": .init(script, PackageResources.enrich_js),
            "/page/files.js": .init(script, PackageResources.files_js),
            "/page/figures.js": .init(script, PackageResources.figures_js),
            "/page/framed.js": .init(script, PackageResources.framed_js),
            "/page/frames.js": .init(script, PackageResources.frames_js),
            "/page/gallery.js": .init(script, PackageResources.gallery_js),
            "/page/images.js": .init(script, PackageResources.images_js),
            "/page/inline.js": .init(script, PackageResources.inline_js),
            "/page/keys.js": .init(script, PackageResources.keys_js),
            "/page/library.js": .init(script, PackageResources.library_js),
            "/page/live.js": .init(script, PackageResources.live_js),
            "/page/manage.js": .init(script, PackageResources.manage_js),
            "/page/markdown.js": .init(script, PackageResources.markdown_js),
            "/page/messages.js": .init(script, PackageResources.messages_js),
            "/page/models.js": .init(script, PackageResources.models_js),
            "/page/modelstate.js": .init(script, PackageResources.modelstate_js),
            "/page/notice.js": .init(script, PackageResources.notice_js),
            "/page/pdfframe.js": .init(script, PackageResources.pdfframe_js),
            "/page/attachments.js": .init(script, PackageResources.attachments_js),
            "/page/search.js": .init(script, PackageResources.search_js),
            "/page/settings.js": .init(script, PackageResources.settings_js),
            "/page/sidebar.js": .init(script, PackageResources.sidebar_js),
            "/page/state.js": .init(script, PackageResources.state_js),
            "/page/store.js": .init(script, PackageResources.store_js),
            "/page/suggest.js": .init(script, PackageResources.suggest_js),
            "/page/theme.js": .init(script, PackageResources.theme_js),
            "/page/titles.js": .init(script, PackageResources.titles_js),
            "/page/toolframe.js": .init(script, PackageResources.toolframe_js),
            "/page/tools.js": .init(script, PackageResources.tools_js),
            "/page/transfer.js": .init(script, PackageResources.transfer_js),
            "/page/turns.js": .init(script, PackageResources.turns_js),
            "/page/units.js": .init(script, PackageResources.units_js),
            "/page/welcome.js": .init(script, PackageResources.welcome_js),
        ]
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
