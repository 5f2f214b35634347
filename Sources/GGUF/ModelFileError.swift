public import Foundation

/// Why a model file was rejected: what was read, where, and what was expected.
public struct ModelFileError: Error, Equatable, Sendable {
    public enum Reason: Sendable {
        /// The file cannot be opened or read.
        case unreadable
        /// The file is not in GGUF format.
        case badMagic
        /// A valid file that this library cannot use: a version, byte order, tensor type or architecture.
        case unsupported
        /// The file is shorter than its header says.
        case truncated
        /// The file contradicts itself or the format.
        case malformed
        case missingMetadata
        /// A metadata value has the wrong type or is out of range.
        case badMetadata
        case missingTensor
        /// A tensor has the wrong type or shape.
        case badTensor
        /// The parts of a split model do not belong together, or one is missing.
        case badSplit
    }

    public var reason: Reason
    /// One or more sentences: "blk.3.attn_q.weight: a row of 1000 values is not whole blocks of 256, as Q4_K needs."
    public var message: String
    public var path: String
    /// Offset of the error in the file, if it has one.
    public var byteOffset: Int?

    public init(_ reason: Reason, _ message: String, path: String, byteOffset: Int? = nil) {
        self.reason = reason
        self.message = message
        self.path = path
        self.byteOffset = byteOffset
    }
}

extension ModelFileError: CustomStringConvertible, LocalizedError {
    public var description: String {
        let place = byteOffset.map { " (at byte \($0))" } ?? ""
        return "\(path): \(message)\(place)"
    }

    public var errorDescription: String? { description }
}
