import Foundation
import JSON
import TestSupport
import Testing
import Wire

@testable import LocalLLM
@testable import Shim

/// Saving and restoring the states of slots, as clients of llama.cpp's server do it.
@Suite(.timeLimit(.minutes(2))) struct SlotTests {
    private let directory: TemporaryDirectory
    private let folder: URL

    init() throws {
        directory = try TemporaryDirectory()
        folder = directory.url.appendingPathComponent("slots")
    }

    private func services(
        _ format: KVCacheFormat = .f16, saves: Bool = true, file: URL? = nil, adapters: [LocalModel.AdapterFile] = []
    ) async throws -> Services {
        var tiny = TinyModel()
        tiny.context = 1024
        var configuration = LocalModel.Configuration(threads: 1, cacheFormat: format)
        configuration.adapters = adapters
        if saves { configuration.slotDirectory = folder }
        return router(
            try await LocalModel.load(from: try file ?? tiny.write(in: directory), configuration: configuration),
            adapters: adapters)
    }

    private static let prompt = String(repeating: "some words of a prompt ", count: 12)

    private func complete(
        _ services: Services, _ prompt: String = prompt, _ fields: String = ""
    ) async -> (text: String, computed: Int, slot: Int) {
        let answer = await services.answer(
            "POST", "/completion",
            #"{"prompt": "\#(prompt)", "n_predict": 12, "temperature": 0, "ignore_eos": true\#(fields)}"#)
        let timings = answer.json["timings"] as? [String: Any]
        return (
            answer.json["content"] as? String ?? "", timings?["prompt_n"] as? Int ?? -1,
            answer.json["id_slot"] as? Int ?? -1
        )
    }

    private func act(
        _ services: Services, _ slot: String, _ action: String, _ body: String = #"{"filename": "a.bin"}"#
    ) async -> Answer { await services.answer("POST", "/slots/\(slot)?action=\(action)", body) }

    @Test(arguments: KVCacheFormat.allCases)
    func `a slot is saved by one process and restored by the next, with the same text`(_ format: KVCacheFormat)
        async throws
    {
        let first = try await services(format)
        let cold = await complete(first, Self.prompt, #", "id_slot": 1"#)
        #expect(cold.slot == 1 && cold.computed > 200)
        let saved = await act(first, "1", "save")
        #expect(saved.status == 200, "\(saved.text)")
        #expect(saved.json["id_slot"] as? Int == 1 && saved.json["filename"] as? String == "a.bin")
        #expect((saved.json["timings"] as? [String: Any])?["save_ms"] is Double)
        let tokens = try #require(saved.json["n_saved"] as? Int)
        #expect(tokens % 32 == 0 && tokens > 192)
        let file = folder.appendingPathComponent("a.bin").path
        #expect(
            try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int == saved.json["n_written"] as? Int)
        #expect(try FileManager.default.attributesOfItem(atPath: folder.path)[.posixPermissions] as? Int == 0o700)

        let second = try await services(format)
        let restored = await act(second, "0", "restore")
        #expect(restored.status == 200, "\(restored.text)")
        #expect(restored.json["n_restored"] as? Int == tokens)
        #expect(restored.json["n_read"] as? Int == saved.json["n_written"] as? Int)
        #expect((restored.json["timings"] as? [String: Any])?["restore_ms"] is Double)
        let warm = await complete(second)
        #expect(warm.text == cold.text && warm.computed <= 32 && warm.slot == 0)

        let erased = await act(second, "0", "erase", "")
        #expect(erased.json["n_erased"] as? Int ?? 0 > tokens && erased.json["id_slot"] as? Int == 0)
        #expect(await complete(second).computed == cold.computed)
    }

    @Test func `without a folder for them slots are not saved, and the error says which option is missing`()
        async throws
    {
        let services = try await services(saves: false)
        for action in ["save", "restore", "erase"] {
            let answer = await act(services, "0", action)
            #expect(answer.status == 501)
            #expect((answer.error["message"] as? String)?.contains("--slot-save-path") == true)
        }
    }

    @Test(
        arguments: [
            "../a.bin", "/etc/passwd", "a/b", "..", ".", ".hidden", "", "a\\\\b", "a\\u0000b", "a\\nb", "C:a",
            String(repeating: "x", count: 201),
        ])
    func `a file's name cannot leave the folder`(_ name: String) async throws {
        let services = try await services()
        _ = await complete(services)
        for action in ["save", "restore"] {
            let answer = await act(services, "0", action, "{\"filename\": \"\(name)\"}")
            #expect(answer.status == 400 && answer.error["param"] as? String == "filename", "\(answer.text)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test func `what cannot be done is an error that names the field`() async throws {
        let services = try await services()
        for (slot, action, body, code) in [
            ("64", "save", #"{"filename": "a"}"#, "invalid_value"),
            ("x", "save", #"{"filename": "a"}"#, "invalid_value"),
            ("0", "steal", #"{"filename": "a"}"#, "invalid_value"), ("0", "save", "{}", "missing_required_parameter"),
            ("0", "save", #"{"filename": "a"}"#, "empty_slot"), ("0", "restore", #"{"filename": "a"}"#, "no_such_file"),
        ] {
            let answer = await act(services, slot, action, body)
            #expect(
                answer.status == 400 && answer.error["code"] as? String == code, "\(slot) \(action): \(answer.text)")
        }
        #expect(await services.answer("POST", "/slots/0", #"{"filename": "a"}"#).status == 400)
        #expect(await complete(services, Self.prompt, #", "id_slot": 64"#).slot == -1)
    }

    @Test func `requests with a salt are in no slot`() async throws {
        let services = try await services()
        _ = await complete(services, Self.prompt, #", "cache_salt": "s""#)
        #expect(await act(services, "0", "save").error["code"] as? String == "empty_slot")
    }

    @Test func `another model's states are refused`() async throws {
        let first = try await services()
        _ = await complete(first)
        #expect(await act(first, "0", "save").status == 200)
        var other = TinyModel()
        other.context = 1024
        other.feedForward = 128
        let folder = try TemporaryDirectory()
        let file = try other.write(in: folder)
        for services in [try await services(file: file), try await services(.q8_0)] {
            let answer = await act(services, "0", "restore")
            #expect(answer.status == 400 && answer.error["code"] as? String == "invalid_slot_file", "\(answer.text)")
            #expect(await complete(services).computed > 200)
        }
    }

    @Test func `states count with the adapters that they were computed with`() async throws {
        let adapter = try TinyModel().writeAdapter(in: directory)
        let adapters = [LocalModel.AdapterFile(url: adapter, scale: 1)]
        let first = try await services(adapters: adapters)
        let adapted = await complete(first)
        #expect(await act(first, "0", "save").status == 200)
        let second = try await services(adapters: adapters)
        #expect(await act(second, "0", "restore").status == 200)
        let bare = await complete(second, Self.prompt, #", "lora": []"#)
        #expect(bare.computed == adapted.computed && bare.text != adapted.text)
        let warm = await complete(second)
        #expect(warm.computed <= 32 && warm.text == adapted.text)
        let answer = await act(try await services(), "0", "restore")
        #expect((answer.error["message"] as? String)?.contains("1 adapters; the model has 0") == true, "\(answer.text)")
    }

    @Test func `the highest slot that a request may name is the last one there is`() throws {
        let field = try #require(SamplingField.named("id_slot"))
        guard case .count(let range) = field.kind else { throw CancellationError() }
        #expect(range == -1...Int64(LocalModel.maximumRunning - 1))
    }
}
