import Foundation
import Observation
import Synchronization
import TestSupport
import Testing

@testable import FoundationModels
@testable import LocalLLM

@Suite(.timeLimit(.minutes(5))) struct AvailabilityTests {
    typealias Availability = SystemLanguageModel.Availability

    private let directory: TemporaryDirectory
    private let file: URL
    private let model: SystemLanguageModel
    /// What the machine says that it has.
    private let memory = Memory()

    private final class Memory: Sendable {
        let available = Mutex(1 << 30)
    }

    init() throws {
        directory = try TemporaryDirectory()
        file = directory.url.appending(path: "tiny.gguf")
        model = SystemLanguageModel(
            ModelHost(
                .file(file), configuration: .init(threads: 1), interval: .milliseconds(5),
                availableMemory: { [memory] in memory.available.withLock { $0 } }))
    }

    private func write(_ bytes: some Sequence<UInt8>, as name: String = "tiny.gguf") throws {
        _ = try directory.write(Array(bytes), as: name)
    }

    private let bytes = TinyModel().builder().bytes()

    @Test func `a file that is not there, comes, works, is replaced and goes`() async throws {
        #expect(model.availability == .unavailable(.modelNotReady) && model.contextSize == 0)
        guard case .missing(let place) = model.status else { return #expect(Bool(false), "\(model.status)") }
        #expect(place.contains(file.path))

        // The beginning has not come yet, then it says how long the file will be.
        try write(bytes.prefix(100), as: "tiny.gguf.part")
        #expect(model.status == .downloading(.init(bytes: 100, totalBytes: nil)))
        let half = bytes.count / 2
        try write(bytes.prefix(half), as: "tiny.gguf.part")
        #expect(model.status == .downloading(.init(bytes: half, totalBytes: bytes.count)))
        #expect(model.status.statusMessage.contains("50 %") || model.status.statusMessage.contains("49 %"))
        #expect(model.availability == .unavailable(.modelNotReady))

        try FileManager.default.removeItem(at: file.appendingPathExtension("part"))
        try write(bytes)
        #expect(model.availability == .available && model.contextSize == 128)
        let first = try await model.host.model()
        #expect(model.status == .available)
        #expect(try await model.host.model() === first, "it is loaded once")

        var other = TinyModel()
        other.context = 64
        try write(other.builder().bytes())
        #expect(try await model.host.model() !== first)
        #expect(model.contextSize == 64)

        try FileManager.default.removeItem(at: file)
        #expect(model.availability == .unavailable(.modelNotReady))
        await #expect(throws: SystemLanguageModel.Error.self) { try await model.host.model() }
    }

    @Test func `who observes it hears of it`() async throws {
        let model = model
        try await change(of: { model.availability }) { try write(bytes) }
        #expect(model.isAvailable)
        try await change(of: { model.isAvailable }) { try FileManager.default.removeItem(at: file) }
        #expect(!model.isAvailable)
        await change(of: { model.availability }) { model.isEnabled = false }
        #expect(model.availability == .unavailable(.appleIntelligenceNotEnabled))
    }

    @Test func `loading is seen, and ends`() async throws {
        try write(bytes)
        let recorder = Recorder(model)
        recorder.track()
        _ = try await model.host.model()
        try await eventually {
            let states = recorder.seen.withLock { $0 }
            guard let loading = states.firstIndex(where: { if case .loading = $0 { true } else { false } }) else {
                return false
            }
            // A model that is being loaded answers, if only later.
            #expect(states[loading].availability == .available)
            #expect(states[loading].statusMessage.contains("loading"))
            return states[loading...].contains(.available)
        }
    }

    /// Reads the state at each change, as soon as it is announced.
    private final class Recorder: Sendable {
        let seen = Mutex<[SystemLanguageModel.Status]>([])
        private let model: SystemLanguageModel

        init(_ model: SystemLanguageModel) { self.model = model }

        func track() {
            withObservationTracking {
                let status = model.status
                seen.withLock { $0.append(status) }
            } onChange: { [self] in
                track()
            }
        }
    }

    @Test func `who is cancelled does not wait for the end, and does not end it for others`() async throws {
        let (gate, open) = AsyncStream<Void>.makeStream()
        let work = Task<Int, any Error> {
            for await _ in gate {}
            return 7
        }
        let waiting = Task { try await work.valueUnlessCancelled }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(!work.isCancelled)
        open.finish()
        #expect(try await work.valueUnlessCancelled == 7)
    }

    @Test func `too little memory is said with the numbers, and passes`() async throws {
        try write(bytes)
        memory.available.withLock { $0 = 1000 }
        #expect(model.availability == .unavailable(.deviceNotEligible))
        guard case .insufficientMemory(let estimate) = model.status else { return #expect(Bool(false)) }
        #expect(estimate.available <= 1000 && estimate.total > 1000)
        #expect(model.status.statusMessage.contains("0 MB are available"))
        let session = LanguageModelSession(model: model)
        let error = await #expect(throws: SystemLanguageModel.Error.self) {
            try await session.respond(to: "Hello")
        }
        #expect(error?.failureReason?.contains("0 MB are available") == true)
        memory.available.withLock { $0 = 1 << 30 }
        #expect(model.isAvailable)
    }

    @Test func `a broken file is not ready, and says why, until it changes`() async throws {
        try write("This is no model.".utf8)
        #expect(model.availability == .unavailable(.modelNotReady))
        guard case .failed(let reason) = model.status else { return #expect(Bool(false), "\(model.status)") }
        #expect(reason.contains("not a GGUF file"))
        try write(bytes)
        #expect(model.isAvailable)
    }

    @Test func `a file whose text cannot be read fails when it is loaded`() async throws {
        var builder = TinyModel().builder()
        builder.metadata.removeAll { $0.key.hasPrefix("tokenizer.") }
        try write(builder.bytes())
        #expect(model.isAvailable)
        await #expect(throws: LocalModelError.self) { try await model.host.model() }
        guard case .failed(let reason) = model.status else { return #expect(Bool(false), "\(model.status)") }
        #expect(reason.contains("tokenizer"))
    }

    @Test func `languages are those that the file names`() throws {
        try write(bytes)
        #expect(model.supportedLanguages.isEmpty && model.supportsLocale(Locale(identifier: "pt_BR")))
        var other = TinyModel()
        other.extra = [("general.languages", .strings(["en", "de"]))]
        try write(other.builder().bytes())
        #expect(model.supportedLanguages == [.init(identifier: "en"), .init(identifier: "de")])
        #expect(model.supportsLocale(Locale(identifier: "de_AT")) && !model.supportsLocale(Locale(identifier: "pt_BR")))
    }

    @Test func `switched off it is gone, switched on it is back`() async throws {
        try write(bytes)
        _ = try await model.host.model()
        model.isEnabled = false
        #expect(model.status == .disabled)
        await #expect(throws: SystemLanguageModel.Error.self) { try await model.host.model() }
        model.isEnabled = true
        #expect(model.isAvailable)
        _ = try await model.host.model()
    }

    @Test func `the default model is the one that is named, else the first that was downloaded`() throws {
        func find(_ environment: [String: String]) -> String {
            switch ModelSource.standard(environment: environment).find() {
            case .file(let url, _): url.lastPathComponent
            case .part(let url): url.lastPathComponent
            case .nothing(let place): place
            }
        }
        let data = try TemporaryDirectory()
        let home = ["XDG_DATA_HOME": data.url.path]
        #expect(find(home).contains(data.url.path) && find(home).contains("shim pull"))
        let folder = data.url.appending(path: "localllm/models")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data([1]).write(to: folder.appending(path: "a.gguf.part"))
        #expect(find(home) == "a.gguf.part")
        try Data([1]).write(to: folder.appending(path: "b.gguf"))
        #expect(find(home) == "b.gguf")
        try write([1], as: "c.gguf")
        let named = directory.url.appending(path: "c.gguf").path
        #expect(find(home.merging(["LOCALLLM_MODEL": named]) { $1 }) == "c.gguf")
        #expect(find(["LOCALLLM_MODEL": "/nowhere/m.gguf"]).contains("LOCALLLM_MODEL: no such file: /nowhere"))
    }

    @Test func `each state has a sentence and a symbol of its own`() {
        let all = [Availability.available] + Availability.UnavailableReason.allCases.map(Availability.unavailable)
        #expect(Set(all.map(\.statusMessage)).count == all.count)
        #expect(Set(all.map(\.iconName)).count == all.count)
        #expect(all.allSatisfy { $0.statusMessage.hasSuffix(".") && !$0.iconName.isEmpty })
    }
}
