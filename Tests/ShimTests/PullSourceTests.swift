import CommandLineParsing
import Cryptography
import Foundation
import LocalLLM
import Testing
import TestSupport
import Wire

@testable import Shim

@Suite struct PullSourceTests {
    @Test(arguments: [
        ("https://example.org/a/m.gguf", "https://example.org/a/m.gguf"),
        ("hf:o/r/m.gguf", "https://huggingface.co/o/r/resolve/main/m.gguf"),
        ("hf:o/r/sub/m Q4.gguf@v1", "https://huggingface.co/o/r/resolve/v1/sub/m%20Q4.gguf"),
        ("hf:o/r/a?b#c.gguf", "https://huggingface.co/o/r/resolve/main/a%3Fb%23c.gguf"),
        ("http://localhost:8000/m.gguf", "http://localhost:8000/m.gguf"),
    ])
    func `where a model comes from`(_ text: String, _ url: String) throws {
        let files = try PullSource(text).files
        #expect(files.map(\.url.absoluteString) == [url])
    }

    @Test func `any part of a split model stands for all`() throws {
        let files = try PullSource("https://example.org/d/m-00002-of-00003.gguf?x=1").files
        #expect(files.map(\.name) == (1...3).map { "m-0000\($0)-of-00003.gguf" })
        #expect(files[2].url.absoluteString == "https://example.org/d/m-00003-of-00003.gguf?x=1")
    }

    @Test(arguments: [
        "", "m.gguf", "hf:", "hf:o/r", "hf:o/r/", "hf:o/r/m.gguf@", "hf:../r/m.gguf", "hf:o/r/../m.gguf",
        "hf:o//m.gguf",
        "http://example.org/m.gguf", "ftp://example.org/m.gguf", "file:///m.gguf", "https:///m.gguf",
        "https://example.org/", "https://example.org/m.bin", "https://example.org/.gguf",
        "https://example.org/.hidden.gguf", "https://example.org/-rf.gguf", "https://example.org/a%2Fb.gguf",
        "https://example.org/..%2F..%2Fm.gguf", "https://example.org/a%00.gguf", "https://example.org/a%0A.gguf",
        "https://example.org/a%1B%5B2J.gguf", "https://example.org/%E2%80%AEm.gguf", "https://example.org/a%5Cb.gguf",
        "https://example.org/" + String(repeating: "a", count: 300) + ".gguf",
    ])
    func `what is no file of a model, or would leave its folder, is refused`(_ text: String) {
        #expect(throws: UsageError.self) { try PullSource(text) }
    }

    @Test func `a digest is 64 hexadecimal digits of one file`() throws {
        let folder = URL(fileURLWithPath: "/nowhere")
        for text in ["", "abc", String(repeating: "g", count: 64), String(repeating: "0", count: 65)] {
            #expect(throws: UsageError.self) { try Pull("hf:o/r/m.gguf", into: folder, sha256: text) }
        }
        let zero = String(repeating: "0", count: 64)
        #expect(throws: UsageError.self) { try Pull("hf:o/r/m-00001-of-00002.gguf", into: folder, sha256: zero) }
        // FIPS 180-4's example.
        let hash = SHA256()
        Array("abc".utf8).withUnsafeBytes { hash.update($0) }
        #expect(hash.hexadecimal == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test func `progress says how much, how fast and how long`() {
        #expect(
            ProgressLine.text("m", 500_000_000, of: 2_000_000_000, new: 300_000_000, in: 10)
                == "m  25 %  500 MB of 2.00 GB  30.0 MB/s  0:50 left")
        #expect(ProgressLine.text("m", 1_000_000, of: nil, new: 1_000_000, in: 1) == "m  1.00 MB  1.00 MB/s")
        #expect(ProgressLine.text("m", 0, of: 7_200_000, new: 0, in: 0) == "m  0 %  0.00 MB of 7.20 MB")
        #expect(ProgressLine.text("m", 1000, of: 3_601_000, new: 1000, in: 1).hasSuffix("1:00:00 left"))
    }

    @Test func `the list says what each file is, or what is wrong with it`() throws {
        let directory = try TemporaryDirectory()
        #expect(ModelListing(directory.url).text.hasPrefix("no models in"))
        _ = try TinyModel().write(in: directory, as: "good.gguf")
        _ = try directory.write(Array("rubbish".utf8), as: "bad.gguf")
        _ = try directory.write(Array("GGUF".utf8), as: "half.gguf.part")
        _ = try directory.write([1], as: "notes.txt")
        let lines = ModelListing(directory.url).text.split(separator: "\n").map(String.init)
        #expect(lines.count == 4)
        #expect(lines[1].hasPrefix("bad ") && lines[1].contains("not a GGUF file"))
        #expect(lines[2].hasPrefix("good ") && lines[2].contains("llama") && lines[2].hasSuffix("F32           ready"))
        #expect(lines[3].hasPrefix("half.gguf ") && lines[3].contains("incomplete"))
    }

    @Test func `folders of safetensors are models by their names`() throws {
        let directory = try TemporaryDirectory()
        let folder = try TinyModel().writeFolder(in: directory, as: "Tiny-0.1B", architecture: "LlamaForCausalLM")
        try FileManager.default.createDirectory(
            at: directory.url.appending(path: "other"), withIntermediateDirectories: true)
        _ = try TinyModel().write(in: directory, as: "good.gguf")
        let lines = ModelListing(directory.url).text.split(separator: "\n").map(String.init)
        #expect(lines.count == 3 && lines[1].hasPrefix("Tiny-0.1B ") && lines[1].hasSuffix("ready"))
        let shown = try describe(ModelFile(DownloadedModels(in: directory.url).find("tiny")))
        #expect(shown.contains("Tiny-0.1B") && shown.contains("llama") && shown.contains("Fits"))
        #expect(shown.contains("Licence       not in the file") && shown.contains("(the default here)"))
        #expect(ModelCatalog(directory: directory.url).scan().map(\.id).sorted() == ["Tiny-0.1B", "good"])
        #expect(throws: PullError.self) { try removeModel("other", in: directory.url) }
        #expect(try removeModel("Tiny-0.1B", in: directory.url) == ["Tiny-0.1B"])
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test func `removing takes all of a model and nothing else`() throws {
        let directory = try TemporaryDirectory()
        let files = [
            "a.gguf", "a.gguf.part", "a.gguf.part.etag", "a.txt", "ab.gguf", "b-00001-of-00002.gguf",
            "b-00002-of-00002.gguf",
        ]
        for file in files { _ = try directory.write([1], as: file) }
        for name in ["", ".", "..", "../a", "a.txt", "/etc/passwd", "A", directory.url.path + "/a.gguf"] {
            #expect(throws: PullError.self) { try removeModel(name, in: directory.url) }
        }
        #expect(try removeModel("a", in: directory.url) == Array(files[..<3]))
        #expect(try removeModel("b", in: directory.url) == Array(files[5...]))
        let left = try FileManager.default.contentsOfDirectory(atPath: directory.url.path).sorted()
        #expect(left == ["a.txt", "ab.gguf"])
    }

    @Test(
        arguments: [
            ("hf.co/o/r:Q4_K_M", "hf:o/r:Q4_K_M"), ("hf.co/o/r", "hf:o/r"), ("huggingface.co/o/r:latest", "hf:o/r"),
            ("https://huggingface.co/o/r", "hf:o/r"), ("hf:o/r/m.gguf@main", "hf:o/r/m.gguf@main"),
            ("o/r", "hf:o/r"), ("o/r:Q8_0", "hf:o/r:Q8_0"), ("o/r/m.gguf", "hf:o/r/m.gguf"),
            ("https://huggingface.co/o/r/resolve/main/m.gguf", "https://huggingface.co/o/r/resolve/main/m.gguf"),
            ("https://example.com/m.gguf", "https://example.com/m.gguf"),
            ("Llama3.2:3B", "hf:bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M"),
        ])
    func `what people write for a model`(_ text: String, _ source: String) throws {
        #expect(try PullSource.meant(by: text) == source)
    }

    @Test func `a name that nobody knows is refused, with the nearest one`() {
        let error = #expect(throws: UsageError.self) { try PullSource.meant(by: "llama3.2:3v") }
        #expect(error?.description.hasSuffix("did you mean llama3.2:3b?") == true)
        let family = #expect(throws: UsageError.self) { try PullSource.meant(by: "smolm2") }
        #expect(family?.description.hasSuffix("did you mean smollm2?") == true)
        for text in ["nonsense", "/absolute/path", "./m.gguf"] {
            #expect(throws: UsageError.self) { try PullSource.meant(by: text) }
        }
    }
}
