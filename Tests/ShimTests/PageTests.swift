import Foundation
import HTTP
import Testing

@testable import Shim

@Suite struct PageTests {
    private func text(_ answer: Answer) -> String { String(decoding: answer.bytes, as: UTF8.self) }

    @Test func `the page is there before the model is, under a strict policy`() async throws {
        let page = await router(nil).answer("GET", "/")
        #expect(page.status == 200)
        #expect(page.headers["Content-Type"] == "text/html; charset=utf-8")
        #expect(text(page).hasPrefix("<!doctype html>"))
        let policy = try #require(page.headers["Content-Security-Policy"]).components(separatedBy: "; ")
        for rule in [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'",
            "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        ] { #expect(policy.contains(rule)) }
        #expect(page.headers["X-Content-Type-Options"] == "nosniff")
        #expect(page.headers["Referrer-Policy"] == "no-referrer")
    }

    /// Every file that another one names is served, and every one that is served is named.
    @Test func `its files are all there, and refer to nothing else`() async throws {
        var named: Set<String> = ["/"]
        for (path, _) in PageFile.all {
            let file = await router(nil).answer("GET", path)
            #expect(file.status == 200)
            let text = text(file)
            for match in text.matches(of: /(?:href|src)="([^"]*)"/) { named.insert(String(match.1)) }
            for match in text.matches(of: /"(\/page\/[^"\/]*\.html)"/) { named.insert(String(match.1)) }
            for match in text.matches(of: /(?:from|import) "\.\/([^"]*)"/) { named.insert("/page/\(match.1)") }
            #expect(!text.contains("innerHTML") && !text.contains("eval("))
        }
        #expect(named.subtracting(PageLibrary.files.keys) == Set(PageFile.all.keys))
    }

    @Test func `a browser that has a file is not sent it again`() async throws {
        let tags = Set(PageFile.all.values.compactMap { $0.answer(request()).headers["ETag"] })
        #expect(tags.count == PageFile.all.count)
        let style = try #require(PageFile.all["/page/style.css"])
        let tag = try #require(style.answer(request()).headers["ETag"])
        for (known, status) in [(tag, 304), ("W/\"x\", \(tag)", 304), ("\"other\"", 200)] {
            let response = style.answer(request(["If-None-Match": known]))
            #expect(response.status == status)
            if case .bytes(let bytes) = response.body { #expect(bytes.isEmpty == (status == 304)) }
        }
    }

    @Test func `of installed libraries only known files are served`() async throws {
        for (path, (file, type)) in PageLibrary.files {
            let answer = await router(nil).answer("GET", path)
            let isInstalled = FileManager.default.fileExists(atPath: file)
            #expect(answer.status == (isInstalled ? 200 : 404), "\(path)")
            guard isInstalled else { continue }
            #expect(answer.headers["Content-Type"] == type)
            #expect(try answer.bytes == Array(Data(contentsOf: URL(fileURLWithPath: file))))
        }
        for path in [
            "katex/contrib/mhchem.js", "katex/../katex/katex.min.js", "katex/", "highlight.js/highlight.js", "x/y",
        ] {
            #expect(await router(nil).answer("GET", "/page/\(path)").status == 404, "\(path)")
        }
    }

    @Test func `only the page for images may load them from elsewhere, and only the frame of the tools calls others`()
        throws
    {
        for (path, file) in PageFile.all {
            let policy = try #require(file.answer(request()).headers["Content-Security-Policy"])
            let sources = ["/": "'self' blob:", "/page/images.html": "'self' blob: data: https: http:"]
            #expect(policy.contains("img-src \(sources[path] ?? "'self'");"), "\(path)")
            #expect(policy.contains("script-src 'self';"))
            let connections = ["/page/tools.html": "'self' https: http:", "/page/pdf.html": "'none'"]
            #expect(policy.contains("connect-src \(connections[path] ?? "'self'");"), "\(path)")
            #expect(policy.contains("frame-ancestors \(connections[path] == nil ? "'none'" : "'self'");"), "\(path)")
        }
    }

    private func request(_ headers: Headers = [:]) -> Request {
        Request(method: "GET", target: "/page/style.css", path: "/page/style.css", headers: headers)
    }
}
