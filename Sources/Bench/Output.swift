import Foundation

/// Why a command failed, or could not read a line of its input. Says what to change.
struct BenchError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// JSON as every command prints it: keys sorted, so that the same result is the same text.
func encodeJSON(_ value: some Encodable, pretty: Bool = false) throws -> Data {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
    return try encoder.encode(value)
}

func printJSON(_ value: some Encodable, pretty: Bool = false) throws {
    try FileHandle.standardOutput.write(contentsOf: encodeJSON(value, pretty: pretty) + Data([UInt8(ascii: "\n")]))
}

func printToStandardError(_ message: String) {
    FileHandle.standardError.write(Data((message + "\n").utf8))
}
