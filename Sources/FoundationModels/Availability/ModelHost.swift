import Dialects
import Foundation
import LocalLLM
import Platform
import Synchronization
import Template

/// Holds a model for all sessions that use it: watches its file, loads it once, and reports its status.
///
/// Reading `status` checks the file and the memory at that moment. For observers both are polled every second: changes
/// of available memory are not announced, so file system notifications would not avoid the polling.
final class ModelHost: Sendable {
    /// The host of `SystemLanguageModel.default`.
    static let standard: ModelHost = {
        let environment = ProcessInfo.processInfo.environment
        let isDisabled = environment["LOCALLLM_DISABLED"].map { !["", "0"].contains($0) } ?? false
        return ModelHost(.standard(environment: environment), isEnabled: !isDisabled)
    }()

    private struct State {
        var isEnabled: Bool
        var file: (url: URL, version: FileVersion)?
        var phase = Phase.unloaded
        /// Facts read from the file; `nil` until it was read.
        var facts: Result<Facts, any Error>?
        var download = DownloadWatch()

        mutating func forget() { (file, phase, facts) = (nil, .unloaded, nil) }
    }

    private struct Facts {
        let needs: MemoryNeeds
        let languages: [String]
        let reasons: Bool

        init(_ file: GGUFFile, _ configuration: LocalModel.Configuration) throws {
            needs = try MemoryNeeds(file, configuration)
            languages = try file.metadata.stringsIfPresent("general.languages") ?? []
            reasons = try file.metadata.chatTemplates()["default"].map(Self.reasons) ?? false
        }

        /// Whether a chat template knows of reasoning: it prints it, or contains its markers.
        private static func reasons(_ source: String) -> Bool {
            guard let template = try? ChatTemplate(source) else { return false }
            let dialect = Dialect(template: template, variables: [:])
            let open = dialect.thoughts.open
            return dialect.isHarmony || dialect.history.reasoningKey != nil || !open.isEmpty && source.contains(open)
        }
    }

    private enum Phase {
        case unloaded
        case loading(Task<LocalModel, any Error>, fraction: Double)
        case loaded(LocalModel)
        /// Stays until the file changes.
        case failed(String)
    }

    private let source: ModelSource
    private let configuration: LocalModel.Configuration
    private let availableMemory: @Sendable () -> Int
    private let state: Mutex<State>
    private let observedStatus = Observed(SystemLanguageModel.Status.missing(""))

    /// - Parameters:
    ///   - interval: Polling interval while there are observers.
    ///   - availableMemory: Returns bytes; tests pass their own.
    init(
        _ source: ModelSource, configuration: LocalModel.Configuration = .init(), isEnabled: Bool = true,
        interval: Duration = .seconds(1),
        availableMemory: @escaping @Sendable () -> Int = { SystemMemory.available() }
    ) {
        self.source = source
        self.configuration = configuration
        self.availableMemory = availableMemory
        state = Mutex(State(isEnabled: isEnabled))
        Task.detached(priority: .utility) { [weak self] in
            while self?.refresh() != nil { try? await Task.sleep(for: interval) }
        }
    }

    // MARK: State

    /// The current status.
    var status: SystemLanguageModel.Status {
        let status = refresh()
        _ = observedStatus.value  // registers the reader as an observer
        return status
    }

    /// Setting it to false releases the model; running answers still finish.
    var isEnabled: Bool {
        get { state.withLock { $0.isEnabled } }
        set {
            state.withLock { $0.isEnabled = newValue }
            refresh()
        }
    }

    /// Maximum tokens of a prompt and its answer together; 0 if no model file can be read.
    var contextSize: Int {
        refresh()
        return state.withLock { state in
            if case .loaded(let model) = state.phase { return model.contextSize }
            return (try? state.facts?.get().needs.estimate(available: spareMemory).contextSize) ?? 0
        }
    }

    /// What the model can do; without a readable file, what all models can.
    var capabilities: LanguageModelCapabilities {
        refresh()
        let reasons = state.withLock { (try? $0.facts?.get().reasons) ?? false }
        return LanguageModelCapabilities(
            [.guidedGeneration, .toolCalling] + (configuration.imageEncoder == nil ? [] : [.vision])
                + (reasons ? [.reasoning] : []))
    }

    /// Language codes that the file names.
    var languages: [String] {
        refresh()
        return state.withLock { (try? $0.facts?.get().languages) ?? [] }
    }

    /// Available memory in bytes, rounded down to 10 MB so that observers are not notified of every page.
    private var spareMemory: Int { availableMemory() / 10_000_000 * 10_000_000 }

    @discardableResult
    private func refresh() -> SystemLanguageModel.Status {
        let status = state.withLock { look(&$0) }
        observedStatus.update(to: status)
        return status
    }

    private func look(_ state: inout State) -> SystemLanguageModel.Status {
        guard state.isEnabled else {
            state.phase = .unloaded
            return .disabled
        }
        let url: URL
        switch source.find() {
        case .nothing(let place):
            state.forget()
            return .missing(place)
        case .part(let part):
            state.forget()
            return .downloading(state.download.status(of: part))
        case .file(let file, let version):
            url = file
            if state.file?.version != version {
                state.forget()
                state.file = (file, version)
            }
        }
        switch state.phase {
        case .loaded: return .available
        case .loading(_, let fraction): return .loading(fraction)
        case .failed(let reason): return .failed(reason)
        case .unloaded: break
        }
        do {
            let facts = state.facts ?? Result { try Facts(GGUFFile(path: url.path, configuration), configuration) }
            state.facts = facts
            let estimate = try facts.get().needs.estimate(available: spareMemory)
            return estimate.fits ? .available : .insufficientMemory(estimate)
        } catch {
            return .failed("\(error)")
        }
    }

    // MARK: Loading

    /// The model, once it is in memory.
    ///
    /// - Throws: `SystemLanguageModel.Error.assetsUnavailable`, which says why; `CancellationError`.
    func model() async throws -> LocalModel {
        refresh()
        let loading = try state.withLock { state throws -> Task<LocalModel, any Error> in
            let status = look(&state)
            switch state.phase {
            case .loaded(let model): return Task { model }
            case .loading(let task, _): return task
            case .failed, .unloaded: break
            }
            guard status == .available, let file = state.file else {
                throw SystemLanguageModel.Error.assetsUnavailable(status.statusMessage)
            }
            let task = Task.detached { [self] in try await load(file.url, file.version) }
            state.phase = .loading(task, fraction: 0)
            return task
        }
        refresh()
        return try await loading.valueUnlessCancelled
    }

    private func load(_ url: URL, _ version: FileVersion) async throws -> LocalModel {
        do {
            let model = try await LocalModel.load(from: url, configuration: configuration) { [self] in
                report($0, of: version)
            }
            // Without a tokenizer no prompt can be encoded.
            _ = try model.tokenizer
            finish(.loaded(model), version)
            return model
        } catch LocalModelError.insufficientMemory(let estimate) {
            // Whether it can be loaded again depends on the memory available then.
            finish(.unloaded, version)
            throw LocalModelError.insufficientMemory(estimate)
        } catch {
            finish(.failed("\(error)"), version)
            throw error
        }
    }

    private func report(_ fraction: Double, of version: FileVersion) {
        let isNews = state.withLock { state in
            guard case .loading(let task, let last) = state.phase, state.file?.version == version else { return false }
            state.phase = .loading(task, fraction: fraction)
            return Int(fraction * 100) != Int(last * 100)
        }
        if isNews { refresh() }
    }

    /// - Parameter version: Version of the file that was loaded; the file may have been replaced since.
    private func finish(_ phase: Phase, _ version: FileVersion) {
        state.withLock { state in
            if case .loading = state.phase, state.file?.version == version { state.phase = phase }
        }
        refresh()
    }
}
