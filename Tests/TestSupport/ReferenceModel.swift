public import Foundation

/// A tiny model of a family with the results of its reference implementation: a file of Tests/Reference/families, which
/// Tests/Reference/families.py makes.
///
/// Such a file has no weights: each is a function of its tensor's name and its index, which this and the script compute.
public struct ReferenceModel: Sendable, CustomStringConvertible {
    public let name: String
    public var description: String { name }
    /// The value of `general.architecture`, also of the GGUF file that a folder converts to.
    public let architecture: String
    /// Input; for an encoder-decoder, of the decoder.
    public let tokens: [Int32]
    /// Input of the encoder of an encoder-decoder.
    public let encoderTokens: [Int32]?
    /// Size of the image that an image encoder reads.
    public let imageSize: (width: Int, height: Int)?
    /// Inputs of an encoder, or of a decoder that makes vectors.
    public let sequences: [[Int32]]?
    /// `[tokens, columns]`: logits; or a vector for each sequence.
    public let results: [Float]
    /// The vocabulary, or the width of the vectors.
    public let columns: Int
    /// The program and model class that made the results.
    public let madeWith: String
    private let model: Model
    private let seed: Int

    private enum Model: Sendable {
        case gguf(File.Keys, [String: [Int]])
        case folder(config: Data, [String: [Int]])
    }

    private struct File: Decodable {
        struct Keys: Decodable {
            var uint32: [String: UInt32]?
            var float32: [String: Float]?
            var bool: [String: Bool]?
            var string: [String: String]?
            var int32s: [String: [Int32]]?
            var float32s: [String: [Float]]?
            var bools: [String: [Bool]]?
            var strings: [String: [String]]?
        }
        let architecture: String
        let kind: String
        let seed: Int
        let keys: Keys?
        let tensors: [String: [Int]]
        let tokens: [Int32]?
        let encoder_tokens: [Int32]?
        let sequences: [[Int32]]?
        let image: [Int]?
        let results: Data
        let columns: Int
        let made_with: String
    }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Reference/families").standardized

    /// All cases, sorted by name. A file that cannot be read ends the process: the data are part of the repository.
    public static let all: [ReferenceModel] = {
        do {
            return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
                .filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }.map { try ReferenceModel($0) }
        } catch {
            fatalError("Tests/Reference/families: \(error)")
        }
    }()

    private init(_ url: URL) throws {
        let data = try Data(contentsOf: url)
        let file = try JSONDecoder().decode(File.self, from: data)
        name = url.deletingPathExtension().lastPathComponent
        (architecture, seed) = (file.architecture, file.seed)
        (tokens, encoderTokens, sequences) = (file.tokens ?? [], file.encoder_tokens, file.sequences)
        imageSize = file.image.map { ($0[0], $0[1]) }
        (columns, madeWith) = (file.columns, file.made_with)
        results = file.results.withUnsafeBytes { bytes in
            (0..<bytes.count / 4).map {
                Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self)))
            }
        }
        if let keys = file.keys {
            model = .gguf(keys, file.tensors)
        } else {
            let whole = try JSONSerialization.jsonObject(with: data) as? [String: Any]
            let config = try JSONSerialization.data(withJSONObject: whole?["config"] ?? [:])
            model = .folder(config: config, file.tensors)
        }
    }

    /// The image that an image encoder reads: RGB, row by row.
    public var imagePixels: [UInt8] {
        guard let imageSize else { return [] }
        return (0..<imageSize.height).flatMap { y in
            (0..<imageSize.width).flatMap { x in
                (0..<3).map { UInt8(truncatingIfNeeded: x * 37 + y * 91 + $0 * 53 + x * y * 7) }
            }
        }
    }

    /// Writes the model: a GGUF file, or a folder of safetensors.
    public func write(in directory: TemporaryDirectory) throws -> URL {
        switch model {
        case .gguf(let keys, let tensors):
            let url = directory.url.appending(path: name + ".gguf")
            try Data(builder(keys, tensors).bytes()).write(to: url)
            return url
        case .folder(let config, let tensors):
            let parts = tensors.sorted { $0.key < $1.key }.map { name, numbers in
                SafetensorsBuilder.Tensor(name, type: "F32", shape: Array(numbers[2...]), data: bytes(name, numbers))
            }
            return try SafetensorsBuilder(parts).write(
                config: String(decoding: config, as: UTF8.self), in: directory, as: name)
        }
    }

    private func builder(_ keys: File.Keys, _ tensors: [String: [Int]]) -> GGUFBuilder {
        var builder = GGUFBuilder()
        func add<Value>(_ entries: [String: Value]?, _ make: (Value) -> GGUFBuilder.Value) {
            for (key, value) in (entries ?? [:]).sorted(by: { $0.key < $1.key }) {
                builder.metadata.append((key, make(value)))
            }
        }
        add(keys.uint32) { .uint32($0) }
        add(keys.float32) { .float32($0) }
        add(keys.bool) { .bool($0) }
        add(keys.string) { .string($0) }
        add(keys.int32s) { .int32s($0) }
        add(keys.float32s) { .floats($0) }
        add(keys.bools) { .array($0.map { .bool($0) }) }
        add(keys.strings) { .strings($0) }
        for (name, numbers) in tensors.sorted(by: { $0.key < $1.key }) {
            let shape = numbers[2...].reversed().map { UInt64($0) }
            builder.tensors.append(
                .init(name, type: 0, shape: shape.isEmpty ? [1] : shape, data: bytes(name, numbers)))
        }
        return builder
    }

    /// The bytes of a tensor.
    ///
    /// - Parameter numbers: What the values are around and how far they spread, in units of 1/1024; then the shape.
    private func bytes(_ tensor: String, _ numbers: [Int]) -> [UInt8] {
        let count = numbers[2...].reduce(1, *)
        let (center, spread) = (numbers[0] * 2048, numbers[1])
        var state = Self.hash("\(seed):\(tensor)")
        return Array(unsafeUninitializedCapacity: 4 * count) { target, written in
            let values = UnsafeMutableRawBufferPointer(target).bindMemory(to: UInt32.self)
            for index in 0..<count {
                // SplitMix64 (Steele et al. 2014).
                state &+= 0x9E37_79B9_7F4A_7C15
                var z = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
                z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
                z ^= z >> 31
                let part = Int(z >> 52) - 2048
                // Exact: the integer has at most 24 bits.
                values[index] = (Float(center + spread * part) / (2048 * 1024)).bitPattern.littleEndian
            }
            written = 4 * count
        }
    }

    /// FNV-1a.
    private static func hash(_ text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
