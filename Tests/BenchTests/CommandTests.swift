import Foundation
import LocalLLM
import TestSupport
import Testing

/// The commands as scripts call them, on a model made here.
@Suite struct CommandTests {
    private let directory: TemporaryDirectory
    private let model: String
    private let vocabulary: String
    private static let template = "{{ bos_token }}{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}"

    init() throws {
        directory = try TemporaryDirectory()
        var tiny = TinyModel()
        tiny.template = Self.template
        model = try tiny.write(in: directory).path
        var builder = tiny.builder()
        builder.tensors = []
        vocabulary = try directory.write(builder.bytes(), as: "vocabulary.gguf")
    }

    // MARK: tokenize, detokenize

    @Test func `an error that cannot be written ends the program with a status`() throws {
        #expect(try Program.bench.survivesFullDisk("speed", "--model", "/missing.gguf"))
    }

    @Test func `tokenize prints an array of ids for each line, from a file without tensors`() async throws {
        let result = try await Program.bench.run(
            "tokenize", "-m", vocabulary, input: #"{"text": "hiA"}"# + "\n" + #"{"text": "", "more": 1}"#)
        #expect(result.lines == ["[107,108,68]", "[]"])
        #expect(result.complaints == "")
        #expect(result.code == 0)
    }

    @Test func `special tokens are added and read only on request`() async throws {
        let input = #"{"text": "</s>"}"#
        let spelled = try await Program.bench.run("tokenize", "-m", vocabulary, input: input)
        #expect(spelled.lines == ["[63,50,118,65]"])
        let both = try await Program.bench.run(
            "tokenize", "-m", vocabulary, "--add-special", "--parse-special", input: input)
        #expect(both.lines == ["[1,2]"])
    }

    @Test func `a bad line gets an error of its own, the others their ids, and the exit code is 1`() async throws {
        let result = try await Program.bench.run(
            "tokenize", "-m", vocabulary,
            input: ["{", #"{"txt": 1}"#, #"{"text": 5}"#, "", #"{"text": "A"}"#].joined(separator: "\n") + "\n")
        #expect(result.lines.count == 5)
        #expect(result.lines[0].contains(#"{"error":"line 1: not JSON"#))
        #expect(result.lines[1] == #"{"error":"line 2: 'text' is missing"}"#)
        #expect(result.lines[2].contains("line 3: 'text'"))
        #expect(result.lines[3].contains("line 4"))
        #expect(result.lines[4] == "[68]")
        #expect(result.code == 1)
    }

    @Test func `detokenize takes objects and bare arrays`() async throws {
        let result = try await Program.bench.run(
            "detokenize", "-m", vocabulary, input: "{\"ids\": [107, 108, 68]}\n[1, 68]\n[]\n[259]\n{\"ids\": [-1]}")
        #expect(result.lines.prefix(3) == [#"{"text":"hiA"}"#, #"{"text":"A"}"#, #"{"text":""}"#])
        #expect(result.lines[3] == #"{"error":"line 4: 'ids': expected 0..<259, found 259"}"#)
        #expect(result.lines[4].contains("line 5"))
        #expect(result.code == 1)
        let special = try await Program.bench.run("detokenize", "-m", vocabulary, "--special", input: "[1,68]")
        #expect(special.lines == [#"{"text":"<s>A"}"#])
    }

    @Test func `megabytes stream through, in lines long and short`() async throws {
        let long = String(repeating: "hi/A", count: 300_000)
        let input = #"{"text": "\#(long)"}"# + "\n" + String(repeating: "{\"text\": \"hi\"}\n", count: 20_000)
        let ids = try await Program.bench.run("tokenize", "-m", vocabulary, input: input)
        #expect(ids.code == 0)
        #expect(ids.lines.count == 20_001)
        #expect(ids.lines.dropFirst().allSatisfy { $0 == "[107,108]" })
        let text = try await Program.bench.run("detokenize", "-m", vocabulary, input: ids.lines[0])
        let isSame = text.lines == [#"{"text":"\#(long)"}"#]
        #expect(isSame)
    }

    // MARK: template

    @Test func `template renders each line, with the keys in the order of the input`() async throws {
        let path = try directory.write(
            Array("{{ tools | tojson }} {{ x }} {{ strftime_now('%Y-%m-%d %H:%M:%S') }}".utf8), as: "t.jinja")
        let result = try await Program.bench.run(
            "template", "--template", path,
            input: """
                {"tools": {"z": 1, "a": 2.0}, "x": "é/", "now": "2026-11-20 12:00:00"}
                {"tools": [], "now": "2026-11-20T12:00:00Z"}
                {"tools": [], "now": 1700000000}
                """, environment: ["TZ": "UTC-2"])
        #expect(
            result.lines == [
                #"{"rendered":"{\"z\": 1, \"a\": 2.0} é/ 2026-11-20 12:00:00"}"#,
                #"{"rendered":"[]  2026-11-20 14:00:00"}"#, #"{"rendered":"[]  2023-11-15 00:13:20"}"#,
            ])
        #expect(result.code == 0)
    }

    @Test func `a template of a GGUF file has the file's special tokens, where the line has none`() async throws {
        let result = try await Program.bench.run(
            "template", "--template", vocabulary,
            input: """
                {"messages": [{"role": "user", "content": "Hi"}]}
                {"messages": [], "bos_token": "B"}
                """)
        #expect(result.lines == [#"{"rendered":"<s>user:Hi;"}"#, #"{"rendered":"B"}"#])
    }

    @Test func `a refused conversation is a result; a line that is no object, or no template, is a failure`()
        async throws
    {
        let refusing = try directory.write(Array("{{ raise_exception('no') }}".utf8), as: "refusing.jinja")
        let refused = try await Program.bench.run("template", "--template", refusing, input: "{}")
        #expect(refused.lines == [#"{"error":"chat template, line 1: no"}"#])
        #expect(refused.code == 0)
        let bad = try await Program.bench.run("template", "--template", refusing, input: "[1]\n{\"now\": \"tomorrow\"}")
        #expect(bad.lines.count == 2)
        #expect(bad.lines.allSatisfy { $0.contains(#""error":"line"#) })
        #expect(bad.code == 1)
        let broken = try directory.write(Array("{% if %}".utf8), as: "broken.jinja")
        let result = try await Program.bench.run("template", "--template", broken, input: "{}")
        #expect(result.lines.first?.contains("error") == true)
        #expect(result.complaints.contains(broken))
        #expect(result.code == 1)
    }

    // MARK: logits

    @Test func `logits are floats of each position, the same in steps of any size`() async throws {
        let output = directory.url.appending(path: "logits").path
        let result = try await Program.bench.run("logits", "-m", model, "--tokens", "1,2,3", "--out", output)
        #expect(result.text == "{\"tokens\":3,\"vocab\":259}\n")
        let logits = try floats(output)
        #expect(logits.count == 3 * 259)
        _ = try await Program.bench.run("logits", "-m", model, "--tokens", "1,2,3", "--out", output, "--chunk", "1")
        #expect(normalizedMeanSquaredError(try floats(output), logits) < 1e-9)
        let rounded = try await Program.bench.run(
            "logits", "-m", model, "--tokens", "1,2,3", "--out", output, "--cache-type", "q8_0")
        #expect(rounded.code == 0)
        #expect(try floats(output) != logits)
        let model = try await LocalModel.load(from: URL(fileURLWithPath: model))
        #expect(normalizedMeanSquaredError(try await model.logits(of: [1, 2, 3]), logits) < 1e-9)
    }

    private func floats(_ path: String) throws -> [Float] {
        try Data(contentsOf: URL(fileURLWithPath: path)).withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count, by: 4).map {
                Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self)))
            }
        }
    }

    @Test func `token ids outside the vocabulary and a place that cannot be written are named`() async throws {
        let outside = try await Program.bench.run("logits", "-m", model, "--tokens", "1,259", "--out", "/dev/null")
        #expect(outside.complaints.contains("259"))
        #expect(outside.code == 1)
        let place = try await Program.bench.run("logits", "-m", model, "--tokens", "1", "--out", "/nowhere/file")
        #expect(place.complaints.contains("/nowhere/file"))
        #expect(place.code == 1)
    }

    // MARK: generate

    private struct Generated: Decodable, Equatable {
        let prompt_ids: [Int32]
        let ids: [Int32]
        let text: String
        let finish_reason: String
    }

    private func generate(_ arguments: String...) async throws -> Generated {
        let result = try await Program.bench.run(["generate", "-m", model, "-n", "8"] + arguments)
        #expect(result.complaints == "")
        return try JSONDecoder().decode(Generated.self, from: result.output)
    }

    @Test func `greedy generation repeats itself, from text and from the same ids`() async throws {
        let fromText = try await generate("--prompt", "hiA", "--temperature", "0")
        #expect(fromText.prompt_ids == [1, 107, 108, 68])
        #expect(fromText.ids.count <= 8)
        #expect(fromText.finish_reason == (fromText.ids.last == TinyModel.endOfSequence ? "stop" : "length"))
        #expect(try await generate("--tokens", "1,107,108,68", "--temperature", "0") == fromText)
    }

    @Test func `the same seed gives the same text`() async throws {
        let first = try await generate("--prompt", "A", "--temperature", "1.5", "--seed", "7", "--top-k", "50")
        #expect(try await generate("--prompt", "A", "--temperature", "1.5", "--seed", "7", "--top-k", "50") == first)
    }

    @Test func `a chat message is rendered with the model's template`() async throws {
        let tokens = try await Program.bench.run(
            "tokenize", "-m", model, "--parse-special", input: #"{"text": "<s>user:hi;"}"#)
        let generated = try await generate("--chat", "--prompt", "hi", "--temperature", "0")
        #expect("\(generated.prompt_ids)".replacing(" ", with: "") == tokens.lines.first)
    }

    // MARK: all commands

    @Test(arguments: ["speed", "perplexity", "logits", "tokenize", "detokenize", "template", "generate"])
    func `each command has help, needs its file, and says which option is unknown`(command: String) async throws {
        let help = try await Program.bench.run(command, "--help")
        #expect(help.text.contains("usage: bench \(command)"))
        #expect(help.code == 0)
        let empty = ["XDG_DATA_HOME": directory.url.path, "LOCALLLM_MODEL": ""]
        let missing = try await Program.bench.run(command, environment: empty)
        #expect(missing.complaints.contains(command == "template" ? "is missing" : "no model: give --model FILE"))
        #expect(missing.code == 2)
        let unknown = try await Program.bench.run(command, "--nope")
        #expect(unknown.complaints.contains("--nope"))
        #expect(unknown.code == 2)
    }

    @Test func `a file that is not there is named`() async throws {
        for command in [["speed"], ["tokenize"], ["generate", "--prompt", "x"]] {
            let result = try await Program.bench.run(command + ["-m", "/nowhere/model.gguf"])
            #expect(result.complaints.contains("/nowhere/model.gguf"))
            #expect(result.output.isEmpty)
            #expect(result.code == 1)
        }
    }

    @Test func `without a command, or with another one, it says where they are listed`() async throws {
        for arguments in [[], ["sped"]] {
            let result = try await Program.bench.run(arguments)
            #expect(result.complaints.hasSuffix("See: bench --help\n") && result.complaints.count { $0 == "\n" } == 2)
            #expect(result.code == 2)
        }
        let help = try await Program.bench.run("--help")
        #expect(help.code == 0 && help.text.contains("usage: bench COMMAND"))
    }
}
