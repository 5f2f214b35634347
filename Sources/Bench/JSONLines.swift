import Foundation
import JSON

/// JSON lines from standard input to standard output: one line out for each line in, in order.
enum JSONLines {
    private struct Failure: Encodable { let error: String }

    /// Prints the result of `transform` for each line, or `{"error": …}`.
    ///
    /// Output is flushed before waiting for input, so that another program can interact with this one.
    /// - Returns: `false` if `transform` failed for a line.
    static func map(_ transform: (Data) throws -> any Encodable) throws -> Bool {
        var reader = LineReader(descriptor: FileHandle.standardInput.fileDescriptor)
        var output = Data()
        func flush() throws {
            try FileHandle.standardOutput.write(contentsOf: output)
            output.removeAll(keepingCapacity: true)
        }
        var number = 0
        var allRead = true
        while let line = try reader.next(beforeWaiting: flush) {
            number += 1
            do {
                output += try encodeJSON(transform(line))
            } catch {
                allRead = false
                output += try encodeJSON(Failure(error: "line \(number): \(message(for: error))"))
            }
            output.append(UInt8(ascii: "\n"))
            if output.count > 1 << 20 { try flush() }
        }
        try flush()
        return allRead
    }

    /// - Throws: `JSON.SyntaxError`, `DecodingError`; see `message`.
    static func decode<Value: Decodable>(_: Value.Type = Value.self, from data: Data) throws -> Value {
        try JSON(parsing: [UInt8](data), .init(depth: 512)).decode()
    }

    /// Describes the error in a line, naming the field.
    static func message(for error: any Error) -> String {
        if let error = error as? JSON.SyntaxError { return "not JSON: \(error)" }
        guard let error = error as? DecodingError else { return "\(error)" }
        func path(_ context: DecodingError.Context) -> String {
            context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
        }
        switch error {
        case .keyNotFound(let key, _): return "'\(key.stringValue)' is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            let place = path(context)
            return place.isEmpty ? context.debugDescription : "'\(place)': \(context.debugDescription)"
        @unknown default: return "\(error)"
        }
    }
}

/// Reads lines as they arrive, without their newline.
struct LineReader {
    private let descriptor: Int32
    private var buffer = Data()
    /// Bytes of `buffer` known to hold no newline.
    private var searched = 0
    private var isAtEnd = false

    init(descriptor: Int32) { self.descriptor = descriptor }

    /// - Parameter beforeWaiting: Called before each read, which may block.
    mutating func next(beforeWaiting: () throws -> Void) throws -> Data? {
        while true {
            let newline = buffer.withUnsafeBytes { bytes in bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) }
            if let newline { return take(newline, skipping: 1) }
            searched = buffer.count
            if isAtEnd { return buffer.isEmpty ? nil : take(buffer.count) }
            try beforeWaiting()
            try fill()
        }
    }

    private mutating func take(_ count: Int, skipping separator: Int = 0) -> Data {
        defer {
            buffer = buffer.dropFirst(count + separator)
            searched = 0
        }
        return Data(buffer.prefix(count))
    }

    private mutating func fill() throws {
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(descriptor, &chunk, chunk.count)
        guard count >= 0 else {
            if errno == EINTR { return }
            throw BenchError("standard input: \(String(cString: strerror(errno)))")
        }
        if count == 0 { isAtEnd = true }
        // A slice keeps the whole buffer alive; copy to release consumed lines.
        if buffer.startIndex > 0 { buffer = Data(buffer) }
        buffer.append(contentsOf: chunk[..<count])
    }
}
