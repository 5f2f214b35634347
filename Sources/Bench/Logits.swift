import Foundation
import LocalLLM

/// −ln of the probability of a token.
func loss(_ logits: UnsafeBufferPointer<Float>, of token: Int32) -> Double {
    logarithmOfSum(logits) - Double(logits[Int(token)])
}

/// ln Σ e^x.
func logarithmOfSum(_ logits: UnsafeBufferPointer<Float>) -> Double {
    let largest = Double(logits.max() ?? 0)
    return largest + log(logits.reduce(0.0) { $0 + exp(Double($1) - largest) })
}

/// Distance of one position's logits from a reference.
struct LogitsDistance: Sendable, Equatable {
    /// Σ p ln(p / q), p the reference's probabilities.
    var divergence = 0.0
    /// Whether the most likely token is the same.
    var hasSameTop: Bool
    var squaredDifference = 0.0
    var power = 0.0
    var largestDifference = 0.0

    init(_ logits: UnsafeBufferPointer<Float>, reference: UnsafeBufferPointer<Float>) {
        let (ours, theirs) = (logarithmOfSum(logits), logarithmOfSum(reference))
        var (top, referenceTop) = (0, 0)
        for index in logits.indices {
            let (x, y) = (Double(logits[index]), Double(reference[index]))
            if y - theirs > -700 { divergence += exp(y - theirs) * ((y - theirs) - (x - ours)) }
            if logits[index] > logits[top] { top = index }
            if reference[index] > reference[referenceTop] { referenceTop = index }
            squaredDifference += (x - y) * (x - y)
            power += y * y
            largestDifference = max(largestDifference, abs(x - y))
        }
        hasSameTop = top == referenceTop
    }

    /// Statistics over all positions.
    struct Summary: Encodable, Equatable {
        let positions: Int
        let meanDivergence: Double
        let divergenceError: Double
        let largestDivergence: Double
        let topAgreement: Double
        let normalizedError: Double
        let largestDifference: Double

        enum CodingKeys: String, CodingKey {
            case positions
            case meanDivergence = "kl_mean"
            case divergenceError = "kl_stderr"
            case largestDivergence = "kl_max"
            case topAgreement = "top1_agreement"
            case normalizedError = "nmse"
            case largestDifference = "max_difference"
        }

        /// - Parameter distances: At least one.
        init(_ distances: [LogitsDistance]) {
            let divergences = distances.map(\.divergence)
            positions = distances.count
            meanDivergence = divergences.mean
            divergenceError = divergences.sampleDeviation / Double(distances.count).squareRoot()
            largestDivergence = divergences.max() ?? 0
            topAgreement = Double(distances.count { $0.hasSameTop }) / Double(distances.count)
            normalizedError = distances.reduce(0) { $0 + $1.squaredDifference } / distances.reduce(0) { $0 + $1.power }
            largestDifference = distances.map(\.largestDifference).max() ?? 0
        }
    }
}

/// A file written by `bench logits`: little-endian floats, `[positions, vocabulary]`.
struct LogitsFile: Sendable {
    private let data: Data

    /// - Throws: `BenchError` if the file cannot be read or has another size.
    init(_ path: String, bytes: Int) throws {
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
        } catch {
            throw BenchError("--reference: cannot read '\(path)': \(error.localizedDescription)")
        }
        guard data.count == bytes else {
            throw BenchError("--reference: '\(path)' has \(data.count) bytes, the logits of these tokens have \(bytes)")
        }
    }

    func row<Result>(_ index: Int, count: Int, _ body: (UnsafeBufferPointer<Float>) -> Result) -> Result {
        let row = data.withUnsafeBytes { bytes in
            (0..<count).map {
                let bits = bytes.loadUnaligned(fromByteOffset: 4 * (index * count + $0), as: UInt32.self)
                return Float(bitPattern: UInt32(littleEndian: bits))
            }
        }
        return row.withUnsafeBufferPointer(body)
    }
}

/// Writes a `LogitsFile`, one position after the other.
final class LogitsWriter: Sendable {
    private let handle: FileHandle

    init(_ path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw BenchError("--out: cannot write '\(path)'") }
        self.handle = handle
    }

    /// - Returns: Whether it succeeded.
    func append(_ logits: UnsafeBufferPointer<Float>) -> Bool {
        let data = logits.map(\.bitPattern.littleEndian).withUnsafeBytes { Data($0) }
        return (try? handle.write(contentsOf: data)) != nil
    }
}
