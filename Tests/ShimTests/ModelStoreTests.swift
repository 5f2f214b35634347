import Foundation
import TestSupport
import Testing
import Wire

@testable import LocalLLM
@testable import Shim

@Suite(.timeLimit(.minutes(5))) struct ModelStoreTests {
    private let directory: TemporaryDirectory
    private let machine = FakeMachine()

    init() throws { directory = try TemporaryDirectory() }

    /// Models of these names in the folder.
    private func store(
        _ names: String..., on machine: FakeMachine? = nil, idleUnload: Duration? = nil
    ) throws -> ModelStore {
        for name in names { _ = try TinyModel().write(in: directory, as: name + ".gguf") }
        return ModelStore(
            ModelCatalog(directory: directory.url), idleUnload: idleUnload, tools: (machine ?? self.machine).tools)
    }

    private func state(_ store: ModelStore, _ name: String) throws -> ModelCard.State? {
        try store.model(named: name).card.state
    }

    // MARK: Pinned

    @Test func `a pinned model is unloaded neither for another nor after the idle time, but by an operator`()
        async throws
    {
        let machine = FakeMachine(memory: 250)
        for name in ["a", "b", "c"] { _ = try TinyModel().write(in: directory, as: name + ".gguf") }
        var catalog = ModelCatalog(directory: directory.url)
        catalog.settings[ModelCatalog.key(directory.url.appendingPathComponent("a.gguf"))] = .init(isPinned: true)
        let store = ModelStore(catalog, idleUnload: .seconds(9), tools: machine.tools)
        for name in ["a", "b", "c"] { _ = try await store.lease(for: name, patience: nil) }
        #expect(try state(store, "a") == .loaded && state(store, "b") == .unloaded)
        #expect(await eventually { machine.sleeperCount == 2 })
        machine.advance(by: .seconds(10))
        #expect(await eventually { (try? state(store, "c")) == .unloaded })
        #expect(try state(store, "a") == .loaded)
        #expect(try store.model(named: "a").unload())
    }

    // MARK: Loading

    @Test func `a model is loaded when it is first asked for, once for all who ask`() async throws {
        let store = try store("a")
        #expect(try state(store, "a") == .unloaded)
        #expect(machine.loads.isEmpty)
        machine.open(false)
        let asking = (0..<10).map { _ in Task { try await store.lease(for: "a") } }
        #expect(await eventually { machine.loads == ["a"] })
        let card = try store.model(named: "a").card
        #expect(card.state == .loading && card.progress == 0.25)
        machine.open(true)
        var engines: [ObjectIdentifier] = []
        for task in asking { engines.append(ObjectIdentifier(try await task.value.model as! ScriptedLanguageModel)) }
        #expect(Set(engines).count == 1)
        #expect(machine.loads == ["a"])
        #expect(try state(store, "a") == .loaded)
    }

    @Test func `a failure is told to all who wait, and the next request tries again`() async throws {
        let store = try store("a")
        let failure = LocalModelError.noTokenizer("no tokenizer")
        machine.fail(with: failure)
        machine.open(false)
        let asking = (0..<3).map { _ in Task { try await store.lease(for: "a") } }
        #expect(await eventually { machine.loads.count == 1 })
        machine.open(true)
        for task in asking { await #expect(throws: failure) { try await task.value } }
        let card = try store.model(named: "a").card
        #expect(card.state == .failed && card.reason == "no tokenizer")
        machine.fail(with: nil)
        _ = try await store.lease(for: "a")
        #expect(machine.loads.count >= 2)
    }

    @Test func `who leaves stops waiting, and the others get the model`() async throws {
        let store = try store("a")
        machine.open(false)
        let leaving = Task { try await store.lease(for: "a") }
        let staying = Task { try await store.lease(for: "a") }
        #expect(await eventually { machine.loads.count == 1 })
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        machine.open(true)
        _ = try await staying.value
        #expect(machine.loads.count == 1)
    }

    @Test func `waiting has an end`() async throws {
        let store = try store("a")
        machine.open(false)
        let asking = Task { try await store.lease(for: "a", patience: .seconds(60)) }
        #expect(await eventually { machine.loads.count == 1 && machine.sleeperCount == 1 })
        machine.advance(by: .seconds(60))
        let error = await #expect(throws: APIError.self) { try await asking.value }
        #expect(error?.status == 503 && error?.code == "model_loading")
        machine.open(true)
    }

    @Test func `models are loaded one after the other`() async throws {
        let store = try store("a", "b")
        machine.open(false)
        let first = Task { try await store.lease(for: "a") }
        #expect(await eventually { machine.loads == ["a"] })
        let second = Task { try await store.lease(for: "b") }
        #expect(await eventually { (try? state(store, "b")) == .loading })
        #expect(machine.loads == ["a"])
        machine.open(true)
        _ = (try await first.value, try await second.value)
        #expect(machine.loads == ["a", "b"])
    }

    // MARK: Unloading

    @Test func `a model is unloaded when nobody has used it for long enough`() async throws {
        let store = try store("a", idleUnload: .seconds(100))
        var lease: ModelLease? = try await store.lease(for: "a", patience: nil)
        machine.advance(by: .seconds(1000))
        #expect(try state(store, "a") == .loaded)
        withExtendedLifetime(lease) {}
        lease = nil
        #expect(await eventually { machine.sleeperCount == 1 })
        machine.advance(by: .seconds(99))
        // Used again: the time begins anew.
        _ = try await store.lease(for: "a", patience: nil)
        #expect(await eventually { machine.sleeperCount == 2 })
        machine.advance(by: .seconds(99))
        #expect(await eventually { machine.sleeperCount == 1 })
        #expect(try state(store, "a") == .loaded)
        machine.advance(by: .seconds(1))
        #expect(await eventually { (try? state(store, "a")) == .unloaded })
        #expect(machine.loads == ["a"])
        _ = try await store.lease(for: "a", patience: nil)
        #expect(machine.loads == ["a", "a"])
    }

    @Test func `for another model the one that is idle longest makes room`() async throws {
        let machine = FakeMachine(memory: 2 * FakeMachine.bytes)
        let store = try store("a", "b", "c", on: machine)
        _ = try await store.lease(for: "a")
        _ = try await store.lease(for: "b")
        _ = try await store.lease(for: "a")
        _ = try await store.lease(for: "c")
        #expect(try ["a", "b", "c"].map { try state(store, $0) } == [.loaded, .unloaded, .loaded])
    }

    @Test func `a model in use stays, and what does not fit beside it is refused with the numbers`() async throws {
        let machine = FakeMachine(memory: FakeMachine.bytes + 1)
        let store = try store("a", "b", on: machine)
        let lease = try await store.lease(for: "a")
        let error = await #expect(throws: LocalModelError.self) { try await store.lease(for: "b") }
        guard case .insufficientMemory(let estimate) = error else { Issue.record("\(error as Any)"); return }
        #expect(estimate.total == FakeMachine.bytes && estimate.available == 1)
        let answer = APIError(reporting: LocalModelError.insufficientMemory(estimate))
        #expect(answer.status == 503 && answer.code == "insufficient_memory")
        #expect(machine.loads == ["a"])
        withExtendedLifetime(lease) {}
    }

    @Test func `the place of a model is free once its last user is gone`() async throws {
        let machine = FakeMachine(memory: FakeMachine.bytes)
        let store = try store("a", "b", on: machine)
        do {
            let lease = try await store.lease(for: "a")
            await #expect(throws: LocalModelError.self) { try await store.lease(for: "b") }
            withExtendedLifetime(lease) {}
        }
        _ = try await store.lease(for: "b")
        #expect(try state(store, "a") == .unloaded)
    }

    @Test(arguments: ["false", "true"])
    func `an answer keeps its model in memory until it ends`(_ stream: String) async throws {
        let machine = FakeMachine(
            memory: FakeMachine.bytes,
            script: .init(texts: Array(repeating: "x", count: 100_000), pause: .milliseconds(10)))
        let store = try store("a", "b", on: machine)
        try await withShim(Services(models: store)) { port in
            let client = try await onThread {
                let client = try SocketClient(port: port)
                try client.send(chatRequest(chatBody(#""stream": \#(stream)"#, model: "a")))
                if stream == "true" { _ = try client.receive(until: #""content":"x""#) }
                return client
            }
            #expect(await eventually { (try? state(store, "a")) == .loaded })
            await #expect(throws: LocalModelError.self) { try await store.lease(for: "b") }
            client.finishSending()
            #expect(await eventually { (try? store.model(named: "a").idleSince) != nil })
            _ = try await store.lease(for: "b")
        }
    }

    // MARK: Names

    @Test func `a model goes by its alias, its file and its title, byte for byte`() throws {
        var model = TinyModel()
        for (name, title) in [("a", "Caf\u{e9}"), ("b", "Twin"), ("c", "Twin")] {
            model.extra = []
            var builder = model.builder()
            builder.metadata[1].value = .string(title)
            _ = try directory.write(builder.bytes(), as: name + ".gguf")
        }
        let catalog = ModelCatalog(directory: directory.url, aliases: [.init(name: "gpt", model: "a")])
        let store = ModelStore(catalog, tools: machine.tools)
        #expect(store.cards().map(\.id) == ["gpt", "b", "c"])
        for name in ["gpt", "a", "a.gguf", "Caf\u{e9}"] {
            #expect(try store.model(named: name).file.id == "gpt")
        }
        // The same letters in other bytes; a title that two models have; a path.
        for name in ["Cafe\u{301}", "Twin", directory.url.path + "/a.gguf", "A", ""] {
            let error = #expect(throws: APIError.self) { try store.model(named: name) }
            #expect(error?.status == 404 && error?.code == "model_not_found")
            #expect(error?.message.contains("`gpt`, `b`, `c`") == true)
        }
    }

    @Test func `a model has as many aliases as it is given, and one of them may stand for any name`() throws {
        for name in ["a", "b"] { _ = try TinyModel().write(in: directory, as: name + ".gguf") }
        let aliases = [("*", "b"), ("gpt-4", "b"), ("gpt-4o-mini", "b"), ("x", "a")].map {
            ModelCatalog.Alias(name: $0, model: $1)
        }
        let store = ModelStore(ModelCatalog(directory: directory.url, aliases: aliases), tools: machine.tools)
        #expect(store.cards().map(\.id) == ["x", "gpt-4"])
        for name in ["gpt-4", "gpt-4o-mini", "b", "claude-sonnet-5", "*", ""] {
            #expect(try store.model(named: name).file.id == "gpt-4")
        }
        #expect(try store.model(named: "x").file.id == "x" && store.model(named: "a.gguf").file.id == "x")
        let plain = ModelStore(ModelCatalog(directory: directory.url), tools: machine.tools)
        let error = #expect(throws: APIError.self) { try plain.model(named: "gpt-4o-mini") }
        #expect(error?.message.contains("--alias") == true)
    }

    @Test func `requests need not name the only model of a folder, until there are two`() throws {
        let store = try store("a")
        #expect(store.implied?.file.id == "a")
        // A folder may get other models, so the server does not load this one at startup.
        #expect(store.only == nil)
        _ = try TinyModel().write(in: directory, as: "b.gguf")
        #expect(store.implied == nil)
    }

    @Test func `what comes into the folder is served, and what leaves is not`() async throws {
        let store = try store("a")
        let lease = try await store.lease(for: "a")
        _ = try TinyModel().write(in: directory, as: "later.gguf")
        #expect(try store.model(named: "later").file.id == "later")
        for part in 1...2 {
            _ = try directory.write([1], as: "big-0000\(part)-of-00002.gguf")
        }
        _ = try directory.write([1], as: "half.gguf.part")
        #expect(store.cards().map(\.id) == ["a", "big", "later"])
        for name in ["a.gguf", "later.gguf"] {
            try FileManager.default.removeItem(at: directory.url.appendingPathComponent(name))
        }
        // One that is in memory stays until it is unloaded.
        #expect(store.cards().map(\.id) == ["big", "a"])
        withExtendedLifetime(lease) {}
    }

    @Test func `a file that cannot be read is listed with the reason, until it is another`() throws {
        _ = try directory.write(Array("rubbish, not a model".utf8), as: "bad.gguf")
        let store = try store()
        let card = store.cards()[0]
        #expect(card.state == .failed)
        #expect(card.reason?.contains("not a GGUF file") == true)
        #expect(card.reason?.contains(directory.url.path) == false)
        _ = try TinyModel().write(in: directory, as: "bad.gguf")
        #expect(store.cards()[0].state == .unloaded)
    }
}
