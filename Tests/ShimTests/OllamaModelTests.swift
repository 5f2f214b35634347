import Foundation
import TestSupport
import Testing
import Wire

@testable import LocalLLM
@testable import Shim

/// Routes of Ollama's API about models, and its embeddings.
@Suite struct OllamaModelTests {
    private let directory: TemporaryDirectory
    private let machine = FakeMachine()

    init() throws { directory = try TemporaryDirectory() }

    /// A server with a folder that has these models.
    private func services(_ names: String...) throws -> Services {
        for name in names { _ = try TinyModel().write(in: directory, as: name + ".gguf") }
        return Services(models: ModelStore(ModelCatalog(directory: directory.url), tools: machine.tools))
    }

    private func models(_ answer: Answer) -> [[String: Any]] { answer.json["models"] as? [[String: Any]] ?? [] }

    private func error(_ answer: Answer) -> String { answer.json["error"] as? String ?? "" }

    @Test func `models are listed with a tag, a size and details`() async throws {
        let answer = await (try services("a", "b")).answer("GET", "/api/tags")
        #expect(models(answer).map { $0["name"] as? String } == ["a:latest", "b:latest"])
        let model = try #require(models(answer).first)
        #expect(model["model"] as? String == "a:latest")
        #expect((model["digest"] as? String)?.count == 64)
        #expect(model["size"] as? Int ?? 0 > 0 && model["modified_at"] is String)
        let details = try #require(model["details"] as? [String: Any])
        #expect(details["format"] as? String == "gguf" && details["family"] as? String == "llama")
        #expect((details["parameter_size"] as? String)?.hasSuffix("M") == true)
        #expect(models(answer)[0]["digest"] as? String != models(answer)[1]["digest"] as? String)
    }

    @Test func `the models in memory are listed with the time they go`() async throws {
        let services = try services("a", "b")
        #expect(models(await services.answer("GET", "/api/ps")).isEmpty)
        _ = try await services.models.lease(for: "b", patience: nil, keepAlive: .limited(.seconds(60)))
        let loaded = models(await services.answer("GET", "/api/ps"))
        #expect(loaded.map { $0["name"] as? String } == ["b:latest"])
        #expect(loaded.first?["expires_at"] is String && loaded.first?["context_length"] as? Int == 128)
    }

    @Test func `a model is described from its file`() async throws {
        let services = try services("a")
        for body in [#"{"model":"a:latest"}"#, #"{"name":"a"}"#] {
            let answer = await services.answer("POST", "/api/show", body)
            #expect(answer.status == 200)
            #expect((answer.json["capabilities"] as? [String])?.contains("completion") == true)
            let info = try #require(answer.json["model_info"] as? [String: Any])
            #expect(info["general.architecture"] as? String == "llama" && info["llama.context_length"] is Int)
            #expect((answer.json["template"] as? String)?.isEmpty == false)
        }
        let unknown = await services.answer("POST", "/api/show", #"{"model":"z"}"#)
        #expect(unknown.status == 404 && error(unknown).hasPrefix("model 'z' not found"))
        #expect((await services.answer("GET", "/api/version")).json["version"] is String)
    }

    @Test func `texts are embedded, and too long ones cut`() async throws {
        let services = router(ScriptedLanguageModel())
        let two = await services.answer("POST", "/api/embed", #"{"model":"Test-Q4","input":["a","bb"]}"#)
        let vectors = try #require(two.json["embeddings"] as? [[Double]])
        #expect(vectors.map(\.count) == [4, 4])
        #expect(two.json["prompt_eval_count"] as? Int == 3 && two.json["total_duration"] is Int)
        let long = String(repeating: "a", count: 500)
        let cut = await services.answer("POST", "/api/embed", #"{"model":"Test-Q4","input":"\#(long)"}"#)
        #expect(cut.status == 200)
        let refused = await services.answer(
            "POST", "/api/embed", #"{"model":"Test-Q4","input":"\#(long)","truncate":false}"#)
        #expect(refused.status == 400 && !error(refused).isEmpty)
        let older = await services.answer("POST", "/api/embeddings", #"{"model":"Test-Q4","prompt":"a"}"#)
        #expect((older.json["embedding"] as? [Double])?.count == 4)
        let none = await services.answer("POST", "/api/embed", #"{"model":"Test-Q4","input":[]}"#)
        #expect((none.json["embeddings"] as? [Any])?.isEmpty == true)
    }

    @Test func `a deleted model's file is gone`() async throws {
        let services = try services("a", "b")
        let answer = await services.answer("DELETE", "/api/delete", #"{"model":"a:latest"}"#)
        #expect(answer.status == 200)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == ["b.gguf"])
        #expect((await services.answer("DELETE", "/api/delete", #"{"model":"a"}"#)).status == 404)
        let lease = try await services.models.lease(for: "b", patience: nil)
        #expect((await services.answer("DELETE", "/api/delete", #"{"model":"b"}"#)).status == 409)
        withExtendedLifetime(lease) {}
    }

    @Test func `a pull of a model that is there succeeds, and one from elsewhere says what to do`() async throws {
        let services = try services("a")
        let here = await services.answer("POST", "/api/pull", #"{"model":"a","stream":false}"#)
        #expect(here.json["status"] as? String == "success")
        let stream = try await services.stream(#"{"name":"a"}"#, at: "/api/pull")
        #expect(stream.text.contains(#"{"status":"success"}"#))
        let other = await services.answer("POST", "/api/pull", #"{"model":"https://example.com/m.gguf"}"#)
        #expect(other.status == 400 && error(other).contains("hf.co/OWNER/REPOSITORY:QUANTIZATION"))
        let files = await router(ScriptedLanguageModel()).answer("POST", "/api/pull", #"{"model":"hf.co/a/b"}"#)
        #expect(files.status == 501 && error(files).contains("--models-dir"))
    }

    @Test(arguments: [
        ("/api/copy", "--alias"), ("/api/push", "Hugging Face"), ("/api/create", "--config"),
        ("/api/blobs/sha256:00", "--config"),
    ])
    func `what this server does not do is a 501 that says what to do instead`(_ path: String, _ advice: String) async {
        let answer = await router(ScriptedLanguageModel()).answer("POST", path, "{}")
        #expect(answer.status == 501 && error(answer).contains(advice))
    }

    @Test func `a model is loaded by name, and a chat's tokens are counted`() async throws {
        let services = try services("a")
        #expect((await services.answer("POST", "/models/load", #"{"model":"a"}"#)).status == 200)
        #expect(try services.models.model(named: "a").loaded != nil)
        let count = await services.answer(
            "POST", "/v1/chat/completions/input_tokens", #"{"model":"a","messages":[{"role":"user","content":"Hi"}]}"#)
        #expect(count.json["input_tokens"] as? Int ?? 0 > 0)
    }
}
