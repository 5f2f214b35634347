public import Foundation

/// Reference data outside of the repository, in shared/fixtures. Tests that need missing files are skipped.
public enum Fixtures {
    public static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../shared/fixtures").standardized

    public static func exist(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: folder.appending(path: path).path)
    }

    public static func url(_ path: String) -> URL { folder.appending(path: path) }

    /// Names of the tiny vision models in `more/`, each with an image encoder; empty if the data is missing.
    public static let visionModels: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: url("more").path)) ?? []
        return files.filter { $0.hasPrefix("vision-") && $0.hasSuffix(".mmproj.gguf") }
            .map { String($0.dropFirst("vision-".count).dropLast(".mmproj.gguf".count)) }.sorted()
    }()

    /// Reads a file of little-endian 32-bit floats.
    public static func floats(_ path: String) throws -> [Float] {
        let data = try Data(contentsOf: url(path))
        return data.withUnsafeBytes { bytes in
            (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self) }
        }
    }
}

/// Normalized mean squared error: Σ(a − b)² / Σ b².
public func normalizedMeanSquaredError(_ values: [Float], _ reference: [Float]) -> Double {
    guard values.count == reference.count, !reference.isEmpty else { return .infinity }
    let error = zip(values, reference).reduce(0.0) { $0 + pow(Double($1.0) - Double($1.1), 2) }
    let power = reference.reduce(0.0) { $0 + pow(Double($1), 2) }
    return error / power
}
