import TestSupport
import Testing

@testable import HTTP

@Suite struct MultipartFormTests {
    private let type = "multipart/form-data; boundary=b"

    private func form(_ text: String, type: String? = nil) throws(RequestError) -> [String] {
        try MultipartForm(Array(text.utf8), contentType: type ?? self.type).parts.map { part in
            let file = part.fileName.map { " \($0) \(part.contentType ?? "-")" } ?? ""
            return "\(part.name)\(file): \(String(decoding: part.bytes, as: UTF8.self))"
        }
    }

    private func field(_ name: String, _ content: String) -> String {
        "--b\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(content)\r\n"
    }

    @Test func `fields and files`() throws {
        let file =
            "--b\r\ncontent-type: image/png\r\nContent-Disposition: form-data; name=image; filename=\"a\\\"b.png\"\r\n\r\n"
            + "\r\n--\r\n--a\r\n--\r\n\r\n"
        #expect(
            try form(field("prompt", "a cat") + file + field("empty", "") + "--b--\r\n") == [
                "prompt: a cat", "image a\"b.png image/png: \r\n--\r\n--a\r\n--\r\n", "empty: ",
            ])
        #expect(try form("--b--") == [])
        #expect(try form("--b \t\r\nContent-Disposition: form-data; name=x;\r\n\r\ny\r\n--b--  ") == ["x: y"])
        let quoted = "Multipart/Form-Data; charset=utf-8; Boundary=\"b\""
        #expect(try form(field("x", "1") + field("x", "2") + "--b--", type: quoted) == ["x: 1", "x: 2"])
    }

    @Test(arguments: [
        "", "x", "--b", "--b\r\n", "--c--", "\r\n--b--", "--b--x", "--b--\r\n\r\n", "--bb--",
        "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\ny",
        "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\ny\r\n--b",
        "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n--b--",
        "--b\r\nContent-Disposition: form-data; name=\"x\r\n\r\ny\r\n--b--",
        "--b\r\nContent-Disposition: form-data; name=\"x\"z\r\n\r\ny\r\n--b--",
        "--b\r\nContent-Disposition: form-data; filename=\"x\"\r\n\r\ny\r\n--b--",
        "--b\r\nContent-Disposition: attachment; name=\"x\"\r\n\r\ny\r\n--b--",
        "--b\r\nContent-Type: text/plain\r\n\r\ny\r\n--b--", "--b\r\n\r\ny\r\n--b--", "--b\r\n--b--",
        "--b\nContent-Disposition: form-data; name=\"x\"\n\ny\n--b--",
    ])
    func `what is not a form is a 400`(_ text: String) {
        let error = #expect(throws: RequestError.self) { try form(text) }
        #expect(error?.status == 400)
    }

    @Test(arguments: [
        "application/json", "multipart/form-data", "multipart/form-data; boundary=", "multipart/mixed; boundary=b",
        "multipart/form-data; boundary=\"b", "multipart/form-data; boundary",
        "multipart/form-data; boundary=" + String(repeating: "b", count: 71),
    ])
    func `a form has a boundary`(_ type: String) {
        #expect(throws: RequestError.self) { try form("--b--", type: type) }
        #expect(throws: RequestError.self) { try MultipartForm(Array("--b--".utf8), contentType: nil) }
    }

    @Test func `parts and their headers are bounded`() throws {
        let many = String(repeating: field("x", ""), count: 256)
        #expect(try form(many + "--b--").count == 256)
        #expect(throws: RequestError.self) { try form(many + field("x", "") + "--b--") }
        for header in [String(repeating: "a", count: 5000), String(repeating: "a:b\r\n", count: 20) + "c:d"] {
            #expect(throws: RequestError.self) {
                try form("--b\r\nContent-Disposition: form-data; name=x\r\n\(header)\r\n\r\ny\r\n--b--")
            }
        }
    }

    @Test func `any bytes are read back, and no cut of them is a form`() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<200 {
            let count = Int.random(in: 0..<40, using: &random)
            let content = (0..<count).map { _ in Array("\r\n-bc".utf8).randomElement(using: &random) ?? 0 }
            let body =
                Array("--bound\r\nContent-Disposition: form-data; name=f\r\n\r\n".utf8) + content
                + Array("\r\n--bound--".utf8)
            let type = "multipart/form-data; boundary=bound"
            let parts = try MultipartForm(body, contentType: type).parts
            #expect(parts.map { Array($0.bytes) } == [content])
            let cut = Array(body.dropLast(Int.random(in: 1...body.count, using: &random)))
            #expect(throws: RequestError.self) { try MultipartForm(cut, contentType: type) }
        }
    }
}
