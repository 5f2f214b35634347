import Foundation
import LocalLLM
import Synchronization
import Wire

/// The models that this server serves, by every name that a client may use.
///
/// The first request for a model loads it; requests that arrive meanwhile wait. Models load one at a time, so that the
/// memory of one is known before the next is checked. If a model does not fit, idle ones are unloaded, the longest idle
/// first.
package final class ModelStore: Sendable {
    /// Side effects, which tests replace.
    struct Tools: Sendable {
        var load:
            @Sendable (ModelFile, _ progress: @escaping @Sendable (Double) -> Void) async throws -> any LanguageModel
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

    /// - Parameter idleUnload: How long an idle model stays in memory; `nil`: until another model needs the memory.
    init(_ catalog: ModelCatalog, idleUnload: Duration? = nil, tools: Tools) {
        self.catalog = catalog
        self.idleUnload = idleUnload
        self.tools = tools
        state = Mutex(State(models: []))
        rescan()
    }

    /// The folder of models; `nil` if the server was given files only.
    var directory: URL? { catalog.directory }

    package var models: [ServedModel] { state.withLock { $0.models } }

    /// The model of a server with exactly one, which is loaded at startup; `nil` with a models folder, where others may
    /// appear.
    var only: ServedModel? { catalog.directory == nil && models.count == 1 ? models[0] : nil }

    /// The model of requests that name none: the only one that the server has now.
    var implied: ServedModel? {
        if catalog.directory != nil { rescan() }
        let models = models
        return models.count == 1 ? models[0] : nil
    }

    /// Whether the server's only model has yet to be loaded for the first time.
    var isStarting: Bool { only.map { !$0.wasLoaded } ?? false }

    /// Whether every model is loaded and accepts no further request now.
    var isFull: Bool {
        let models = models
        return !models.isEmpty && models.allSatisfy { $0.loaded?.activity.isFull == true }
    }

    /// Scans the folder again and describes the models.
    func cards() -> [ModelCard] {
        rescan()
        let names = Set(models.flatMap { adapters(of: $0).map(\.modelName) }).sorted()
        return models.map(\.card) + names.compactMap { adapter(named: $0) == nil ? nil : try? card(named: $0) }
    }

    /// The card of the model with this name, or of the adapter.
    func card(named name: String) throws(APIError) -> ModelCard {
        let model = try model(named: name)
        guard adapter(named: name) != nil else { return model.card }
        var card = model.card
        (card.id, card.parent) = (name, card.id)
        return card
    }

    /// The engine of the model with this name, loaded if necessary.
    ///
    /// - Parameters:
    ///   - patience: Maximum time to wait for loading; `nil`: no limit.
    ///   - keepAlive: How long the model stays in memory when it is idle again; `nil`: the store's idle time.
    /// - Throws: `APIError` for an unknown name or when `patience` is over; the error of loading; `CancellationError`.
    func lease(
        for name: String, patience: Duration? = .seconds(300), keepAlive: KeepAlive? = nil
    ) async throws -> ModelLease {
        let model = try model(named: name)
        let sleep = tools.sleep
        let wait = patience.map { patience in { @Sendable in try await sleep(patience) } }
        let lease = try await model.lease(wait: wait, keepAlive: keepAlive) { startLoading(model) }
        guard let (index, adapter) = adapter(named: name) else { return lease }
        return ModelLease(id: name, model: lease.model, adapterScales: [index: adapter.scale]) {
            withExtendedLifetime(lease) {}
        }
    }

    /// Whether any model may have an image encoder.
    var seesImages: Bool { catalog.seesImages }

    /// Whether the model with this name, or without a name the only one, has an image encoder.
    package func seesImages(_ name: String?) -> Bool {
        guard let model = name.map({ try? model(named: $0) }) ?? implied else { return catalog.seesImages }
        return catalog.settings(of: model.file.url).configuration.imageEncoder != nil
    }

    // MARK: Names

    /// Throws a 404 for an unknown name; another model never answers instead.
    func model(named name: String) throws(APIError) -> ServedModel {
        if let model = find(name) { return model }
        rescan()
        if let model = find(name) { return model }
        let ids = models.map { "`\($0.file.id)`" }
        throw APIError(
            status: 404, kind: .invalidRequest,
            message: "The model `\(name)` does not exist. This server serves "
                + (ids.isEmpty ? "none yet." : ids.joined(separator: ", ") + ".")
                + " Its option --alias gives a model more names; --alias '*' takes any name.", param: "model",
            code: "model_not_found")
    }

    package func has(_ name: String) -> Bool { (try? model(named: name)) != nil }

    func find(_ name: String) -> ServedModel? {
        let models = models
        if let model = models.first(where: { $0.file.isCalled(name) }) { return model }
        let titled = models.filter { $0.file.isTitled(name) }
        if titled.count == 1 { return titled[0] }
        if let model = models.first(where: { adapters(of: $0).contains { $0.isCalled(name) } }) { return model }
        // Clients of Ollama's API that chat by OpenAI's use the names of the former there, too.
        let tagged = TaggedName(name)
        if name.contains(":"), tagged.base != name, let model = find(tagged: tagged) { return model }
        return catalog.fallback(models)
    }

    func adapters(of model: ServedModel) -> [LocalModel.AdapterFile] {
        catalog.settings(of: model.file.url).configuration.adapters
    }

    /// The adapter with this name, and its index among those of its model; `nil` if there is none, or if a model has the
    /// name.
    private func adapter(named name: String) -> (index: Int, file: LocalModel.AdapterFile)? {
        guard let model = find(name), !model.file.isCalled(name), !model.file.isTitled(name) else { return nil }
        return adapters(of: model).enumerated().first { $0.element.isCalled(name) }.map { ($0.offset, $0.element) }
    }

    /// Adds new files, and drops removed or changed ones unless they are loaded.
    func rescan() {
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
        ServedModel(
            file, isPinned: catalog.settings(of: file.url).isPinned,
            keepAlive: idleUnload.map { .limited($0) } ?? .forever, sleep: tools.sleep)
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
    /// - Throws: `LocalModelError.insufficientMemory` if no idle model is left to unload.
    private func makeRoom(for model: ServedModel) async throws {
        while true {
            let estimate = try tools.estimate(model.file)
            if estimate.fits { return }
            let idle = models.compactMap { model in model.isPinned ? nil : model.idleSince.map { (model, $0) } }
            guard let (victim, _) = idle.min(by: { $0.1 < $1.1 }) else {
                throw LocalModelError.insufficientMemory(estimate)
            }
            // `unload` fails if the model was leased in the meantime; then look again.
            if victim.unload() { try await waitForMemory(estimate.total) }
        }
    }

    /// An unloaded model's memory is freed a moment later, when its thread ends. Waits until `needed` bytes are
    /// available, or none were freed for 25 polls of 20 ms.
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

extension LocalModel.AdapterFile {
    /// The name by which requests choose the adapter: the file's without its extension, or the folder's.
    var modelName: String {
        url.hasDirectoryPath ? url.lastPathComponent : url.deletingPathExtension().lastPathComponent
    }

    fileprivate func isCalled(_ name: String) -> Bool { modelName.hasSameBytes(as: name) }
}
