import Foundation
@testable import LocalLLM
import TestSupport

/// A file that is right, and where it can be made wrong.
private struct Base {
    let bytes: [UInt8]
    let fields: Fields
    /// Whether it is an image encoder, which is loaded with the first of the models.
    let isImageEncoder: Bool

    init(_ bytes: [UInt8], isImageEncoder: Bool = false) {
        self.bytes = bytes
        self.isImageEncoder = isImageEncoder
        fields = Fields(bytes)
    }
}

/// Small random models and image encoders; those of the folder in LOCALLLM_FUZZ_MODELS too, if they are not large.
private let bases: [Base] = {
    var dense = TinyModel()
    (dense.width, dense.feedForward, dense.heads, dense.kvHeads, dense.layers) = (32, 32, 2, 1, 1)
    var mixture = dense
    mixture.isQuantized = true
    (mixture.experts, mixture.usedExperts, mixture.sharedFeedForward) = (4, 2, 32)
    (mixture.hasBias, mixture.hasHeadNorm, mixture.slidingWindow) = (true, true, 32)
    var encoder = TinyEncoder()
    encoder.layers = 1
    var files = [dense.builder().bytes(), mixture.builder().bytes(), encoder.builder().bytes()]
    let imageReader = ["gemma3", "idefics3", "lfm2"].map { kind in
        var imageReader = TinyVision()
        (imageReader.kind, imageReader.layers, imageReader.modelWidth) = (kind, 1, dense.width)
        return Base(imageReader.builder().bytes(), isImageEncoder: true)
    }
    if let folder = ProcessInfo.processInfo.environment["LOCALLLM_FUZZ_MODELS"] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names.sorted() where name.hasSuffix(".gguf") {
            guard let file = FileManager.default.contents(atPath: "\(folder)/\(name)"), file.count < 1_000_000 else {
                continue
            }
            files.append(Array(file))
        }
    }
    return files.prefix(3).map { Base($0) } + imageReader + files.dropFirst(3).map { Base($0) }
}()

private let path = "/dev/shm/fuzz-\(getpid()).gguf"
/// The model that looks at images.
private let seeing: URL = {
    let url = URL(filePath: "/dev/shm/fuzz-\(getpid())-model.gguf")
    try! Data(bases[0].bytes).write(to: url)
    atexit { unlink("/dev/shm/fuzz-\(getpid())-model.gguf") }
    return url
}()

private let numbers: [UInt64] = [
    0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 1023, 4096, 65535, 1 << 20, 0x7fff_ffff,
    0x8000_0000, 0xffff_ffff, 1 << 32, 1 << 40, 1 << 62, 0x7fff_ffff_ffff_ffff, 1 << 63, .max,
    // Floats: 0.5, 1, -1, 1e30, the least and the greatest, infinite, not a number.
    0x3f00_0000, 0x3f80_0000, 0xbf80_0000, 0x7149_f2ca, 1, 0x7f7f_ffff, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000,
    0x3ff0_0000_0000_0000, 0x7ff0_0000_0000_0000, 0x7c00, 0xfc00, 0x7e00,
]

private func base(_ first: UInt8) -> Base { bases[Int(first & 0x3f) % bases.count] }

/// The first byte chooses a file, and how it is loaded; each three others change a number of its description, each four a weight.
private func mutant(_ input: [UInt8]) -> [UInt8]? {
    guard let first = input.first else { return nil }
    let base = base(first)
    var bytes = base.bytes
    for edit in stride(from: 1, to: input.count - 3, by: 4).prefix(6) {
        let place = Int(input[edit + 1]) << 8 | Int(input[edit + 2])
        let value = Int(input[edit + 3])
        let change = { (old: UInt64) -> UInt64 in
            value < 128 ? numbers[value % numbers.count] : old &+ UInt64(bitPattern: Int64(value - 192))
        }
        var target = base.fields.places[place % base.fields.places.count]
        if input[edit] & 7 == 0, base.fields.end + 64 < bytes.count {
            target = .init(offset: base.fields.end + 32 + place * 7 % (bytes.count - base.fields.end - 40), width: 2)
        }
        let old = (0..<target.width).reduce(UInt64(0)) { $0 | UInt64(bytes[target.offset + $1]) << (8 * UInt64($1)) }
        let new = change(old)
        for index in 0..<target.width {
            bytes[target.offset + index] = UInt8(truncatingIfNeeded: new >> (8 * UInt64(index)))
        }
    }
    return bytes
}

private func answer(_ first: UInt8) async {
    do {
        var configuration = LocalModel.Configuration(threads: 1)
        configuration.cacheTokens = 2048
        if first & 0x80 != 0 { configuration.cacheFormat = .q4 }
        if first & 0x40 != 0 { configuration.expertsOnDisk = true }
        if base(first).isImageEncoder {
            configuration.imageEncoder = URL(filePath: path)
            let model = try await LocalModel.load(from: seeing, configuration: configuration)
            let question = ChatMessage.user("Hello", images: [TestImages.first, TestImages.second])
            for try await _ in model.generate([question], options: .init(seed: 1, maximumTokens: 2)) {}
            return
        }
        let model = try await LocalModel.load(from: URL(filePath: path), configuration: configuration)
        if model.info.kind != .encoder {
            let options = SamplingOptions(seed: 1, maximumTokens: 4, stop: ["xyz"], topLogprobs: 2)
            for try await piece in model.generate([.user("Hello")], options: options) {
                precondition(piece.logprobs.allSatisfy { $0.logprob.isFinite }, "an answer that is not finite")
            }
            for try await _ in model.generate(tokens: [1, 2, 3, 4, 5], options: options) {}
        }
        let embeddings = try await model.embeddings(of: [[1, 2, 3]])
        precondition(embeddings.allSatisfy { $0.allSatisfy(\.isFinite) }, "an embedding that is not finite")
    } catch is ModelFileError {
    } catch is LocalModelError {
    } catch {
        preconditionFailure("not an error of the file: \(error)")
    }
}

/// What loads must answer or say why not.
private func check(_ input: [UInt8]) {
    guard let bytes = mutant(input) else { return }
    try! Data(bytes).write(to: URL(filePath: path))
    let done = DispatchSemaphore(value: 0)
    Task.detached {
        await answer(input[0])
        done.signal()
    }
    done.wait()
    unlink(path)
}

/// What libFuzzer, whose library has the `main`, calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
