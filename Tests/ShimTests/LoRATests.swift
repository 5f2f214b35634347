import Foundation
import JSON
import LocalLLM
import TestSupport
import Testing
import Wire

@testable import Shim

/// Adapters of a tiny model, as clients of llama.cpp's server choose them.
@Suite(.timeLimit(.minutes(2))) struct LoRATests {
    private let directory: TemporaryDirectory
    private let base: URL
    private let adapter: URL

    init() throws {
        directory = try TemporaryDirectory()
        let tiny = TinyModel()
        base = try tiny.write(in: directory)
        adapter = try tiny.writeAdapter(in: directory)
    }

    private func services(scale: Double = 0) async throws -> Services {
        var configuration = LocalModel.Configuration(threads: 1)
        configuration.adapters = [.init(url: adapter, scale: scale)]
        return router(
            try await LocalModel.load(from: base, configuration: configuration), adapters: configuration.adapters)
    }

    private func text(_ services: Services, _ fields: String = "") async -> String? {
        let answer = await services.answer(
            "POST", "/completion",
            #"{"prompt": "hello", "n_predict": 12, "temperature": 0, "ignore_eos": true\#(fields)}"#)
        return answer.json["content"] as? String
    }

    @Test func `a request's adapters act in it alone, the server's in all that say nothing`() async throws {
        let services = try await services()
        let bare = try #require(await text(services))
        let adapted = try #require(await text(services, #", "lora": [{"id": 0, "scale": 1}]"#))
        #expect(bare != adapted)
        #expect(await text(services) == bare)
        let set = await services.answer("POST", "/lora-adapters", #"[{"id": 0, "scale": 1.0}]"#)
        #expect(set.json["success"] as? Bool == true)
        #expect(await text(services) == adapted)
        #expect(await text(services, #", "lora": []"#) == bare)
        let list = await services.answer("GET", "/lora-adapters")
        let adapters = try #require(try JSONSerialization.jsonObject(with: Data(list.bytes)) as? [[String: Any]])
        #expect(adapters.count == 1)
        #expect(adapters[0]["id"] as? Int == 0)
        #expect(adapters[0]["scale"] as? Double == 1)
        #expect(adapters[0]["path"] as? String == adapter.path)
        #expect(adapters[0]["task_name"] as? String == "shout")
    }

    @Test func `an adapter's name in place of the model's chooses it, as in vLLM`() async throws {
        let services = try await services(scale: 1)
        let adapted = try #require(await text(services))
        // Off for requests that say nothing.
        #expect(await services.answer("POST", "/lora-adapters", "[]").status == 200)
        let bare = try #require(await text(services))
        #expect(bare != adapted)
        #expect(await text(services, #", "model": "adapter""#) == adapted)
        #expect(await text(services, #", "model": "adapter", "lora": []"#) == bare)
        #expect(await text(services, #", "model": "Test-Q4""#) == bare)

        #expect(
            metricsText(services).contains(
                #"lora_requests_info{max_lora="1",running_lora_adapters="adapter",waiting_lora_adapters=""} 1"#))

        let list = try await JSON.decode(ModelList.self, from: services.answer("GET", "/v1/models").bytes).data
        #expect(list.map(\.id) == ["Test-Q4", "adapter"])
        #expect(list.map(\.parent) == [nil, "Test-Q4"])
        let card = try await JSON.decode(ModelCard.self, from: services.answer("GET", "/v1/models/adapter").bytes)
        #expect(card == list[1])
        let answer = await services.answer(
            "POST", "/completion", #"{"prompt": "x", "n_predict": 1, "model": "adapter"}"#)
        #expect(answer.json["model"] as? String == "adapter")
        // Embeddings take no adapters.
        let refused = await services.answer("POST", "/v1/embeddings", #"{"model": "adapter", "input": "x"}"#)
        #expect(refused.status == 400)
        #expect(refused.error["param"] as? String == "model")
    }

    @Test(arguments: [
        (#"[{"id": 1, "scale": 1}]"#, "lora[0].id"), (#"[{"id": -1, "scale": 1}]"#, "lora[0].id"),
        (#"[{"id": 0, "scale": 1e9}]"#, "lora[0].scale"),
        (#"[{"id": 0, "scale": 1}, {"id": 0, "scale": 2}]"#, "lora[1].id"),
        (#"[{"id": 0}]"#, "lora"), (#"7"#, "lora"),
    ])
    func `wrong adapters are a 400 that names the field`(list: String, field: String) async throws {
        let services = try await services()
        let answer = await services.answer("POST", "/completion", #"{"prompt": "x", "lora": \#(list)}"#)
        #expect(answer.status == 400)
        #expect(
            (answer.error["message"] as? String)?.contains(field) == true
                || (answer.error["param"] as? String)?.contains(field) == true)
        let set = await services.answer("POST", "/lora-adapters", list)
        #expect(set.status == 400)
    }
}
