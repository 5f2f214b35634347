import Foundation
import LocalLLM
import Synchronization
import Wire

/// The models that this server serves, by every name that a client may use.
///
/// A model is loaded when it is first asked for, and everyone who asks meanwhile waits for that. Models are loaded one
/// after the other, so that what the one takes is known before there is room for the next; for which those that nobody
/// uses are unloaded, the one that has been idle longest first.
final class ModelStore: Sendable {
    /// What tests replace.
    struct Tools: Sendable {
        var load: @Sendable (ModelFile, _ progress: @escaping @Sendable (Double) -> Void) async throws -> any ChatEngine
        var estimate: @Sendable (ModelFile) throws -> MemoryEstimate
        var availableMemory: @Sendable () -> Int = { LocalModel.availableMemory }
        var sleep: @Sendable (Duration) async throws -> Void = { try await pause(for: $0) }
    }

    private struct State {
        var models: [ServedModel]
        var lastLoad: Task<Void, Never>?
    }

    private let catalog: ModelCatalog
    private let idleUnload: Duration?
    private let tools: Tools
    private let state: Mutex<State>

    /// - Parameter idleUnload: How long a model that nobody uses stays in memory; `nil`: until another needs the room.
    init(_ catalog: ModelCatalog, idleUnload: Duration? = nil, tools: Tools) {
        self.catalog = catalog
        self.idleUnload = idleUnload
        self.tools = tools
        state = Mutex(State(models: []))
        rescan()
    }

    var models: [ServedModel] { state.withLock { $0.models } }

    /// The only model that there is or can be: the server is started for it, and loads it then.
    var only: ServedModel? { catalog.directory == nil && models.count == 1 ? models[0] : nil }

    /// Whether the only model has not been in memory yet.
    var isStarting: Bool { only.map { !$0.wasLoaded } ?? false }

    /// What there is, looked up anew.
    func cards() -> [ModelCard] {
        rescan()
        return models.map(\.card)
    }

    /// The engine of the model of this name, loaded if need be.
    ///
    /// - Parameter patience: How long to wait for that; `nil`: for as long as it takes.
    /// - Throws: `APIError` for a name that is none, or when loading takes too long; why loading failed;
    ///   `CancellationError`.
    func engine(for name: String, patience: Duration? = .seconds(300)) async throws -> EngineLease {
        let model = try model(named: name)
        let sleep = tools.sleep
        let wait = patience.map { patience in { @Sendable in try await sleep(patience) } }
        return try await model.lease(wait: wait) { startLoading(model) }
    }

    // MARK: Names

    /// Refuses a name that is no model's. An answer from another model than the one asked for helps nobody.
    func model(named name: String) throws(APIError) -> ServedModel {
        if let model = find(name) { return model }
        rescan()
        if let model = find(name) { return model }
        let ids = models.map { "`\($0.file.id)`" }
        throw APIError(
            status: 404, kind: .invalidRequest,
            message: "The model `\(name)` does not exist here. This server serves "
                + (ids.isEmpty ? "none yet." : ids.joined(separator: ", ") + "."), param: "model",
            code: "model_not_found")
    }

    func has(_ name: String) -> Bool { (try? model(named: name)) != nil }

    private func find(_ name: String) -> ServedModel? {
        let models = models
        if let model = models.first(where: { $0.file.isCalled(name) }) { return model }
        let titled = models.filter { $0.file.isTitled(name) }
        return titled.count == 1 ? titled[0] : nil
    }

    /// Takes up what has come, and drops what is gone or has changed unless it is in use.
    private func rescan() {
        let known = models
        let files = catalog.scan(knowing: known.map(\.file))
        state.withLock { state in
            var models = files.map { file in
                state.models.first { $0.file.url == file.url && ($0.file.isSame(as: file) || !$0.isOutOfUse) }
                    ?? served(file)
            }
            models += state.models.filter { old in
                !old.isOutOfUse && !models.contains { $0 === old }
            }
            state.models = models
        }
    }

    private func served(_ file: ModelFile) -> ServedModel {
        guard let idleUnload else { return ServedModel(file) }
        let sleep = tools.sleep
        return ServedModel(file) { try await sleep(idleUnload) }
    }

    // MARK: Loading

    private func startLoading(_ model: ServedModel) {
        state.withLock { state in
            let previous = state.lastLoad
            state.lastLoad = Task {
                await previous?.value
                await load(model)
            }
        }
    }

    private func load(_ model: ServedModel) async {
        do {
            try await makeRoom(for: model)
            model.finishLoading(.success(try await tools.load(model.file) { model.report(progress: $0) }))
        } catch {
            model.finishLoading(.failure(error))
        }
    }

    /// Unloads other models until this one fits.
    ///
    /// - Throws: `LocalModelError.insufficientMemory` when there is none left that nobody uses.
    private func makeRoom(for model: ServedModel) async throws {
        while true {
            let estimate = try tools.estimate(model.file)
            if estimate.fits { return }
            let idle = models.compactMap { model in model.idleSince.map { (model, $0) } }
            guard let (victim, _) = idle.min(by: { $0.1 < $1.1 }) else {
                throw LocalModelError.insufficientMemory(estimate)
            }
            // Someone may have taken it just now: then there is another, or none.
            if victim.unload() { try await waitForMemory(estimate.total) }
        }
    }

    /// A model's memory comes back a moment after it was unloaded, when its thread has ended: waits until there is as much
    /// as is needed, or no more comes.
    private func waitForMemory(_ needed: Int) async throws {
        var (available, stillness) = (tools.availableMemory(), 0)
        while available < needed, stillness < 25 {
            try await tools.sleep(.milliseconds(20))
            let now = tools.availableMemory()
            stillness = now > available ? 0 : stillness + 1
            available = now
        }
    }
}
