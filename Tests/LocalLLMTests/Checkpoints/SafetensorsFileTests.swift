@testable import GGUF
import JSON
import Foundation
import TestSupport
import Testing

@testable import LocalLLM

@Suite struct SafetensorsFileTests {
    private let directory: TemporaryDirectory
    private let good = SafetensorsBuilder([
        .init("a", shape: [2, 3], [1, 2, 3, 4, 5, 6]), .init("b", shape: [4], [7, 8, 9, 10]),
    ])

    init() throws { directory = try TemporaryDirectory() }

    @Test(arguments: ["{\"a\":{}},", "\"a\":[0,0],"])
    func `a header of too many values is refused before it is parsed`(item: String) throws {
        let count = item.contains("{") ? SafetensorsFile.maximumTensors : 8 * SafetensorsFile.maximumTensors
        let header = Array(("{" + String(repeating: item, count: count) + "\"b\":0}").utf8)
        let length = (0..<8).map { UInt8(truncatingIfNeeded: header.count >> (8 * $0)) }
        let error = #expect(throws: ModelFileError.self) { try open(length + header) }
        #expect(error?.reason == .unsupported)
        #expect(error?.message.contains("at most \(SafetensorsFile.maximumTensors)") == true)
    }

    private func open(_ bytes: [UInt8]) throws -> SafetensorsFile {
        try SafetensorsFile(path: directory.write(bytes, as: "test.safetensors"))
    }

    @Test func `tensors are where the header says`() throws {
        let file = try open(good.bytes())
        #expect(file.tensors.map(\.name) == ["a", "b"])
        #expect(file.tensors.map(\.shape) == [[2, 3], [4]])
        let bytes = file.file.bytes[file.tensors[1].range]
        #expect(Array(bytes) == good.tensors[1].data)
    }

    @Test(arguments: [
        ("length", "header"), ("huge", "header"), ("overlap", "must begin at"), ("gap", "must begin at"),
        ("beyond", "ends at byte"), ("short", "apart"), ("dtype", "F7"), ("shape", "shape"),
        ("trailing", "the file has"),
        ("descending", "ascending"),
    ])
    func `a header that lies is refused`(lie: String, text: String) throws {
        var builder = good
        switch lie {
        case "length": builder.claimedLength = 100_000
        case "huge": builder.claimedLength = .max
        case "overlap": builder.tensors[1].claimedOffsets = [8, 24]
        case "gap": (builder.tensors[1].claimedOffsets, builder.trailing) = ([28, 44], [0, 0, 0, 0])
        case "beyond": builder.tensors[1].claimedOffsets = [240, 256]
        case "short": builder.tensors[1].claimedOffsets = [24, 28]
        case "dtype": builder.tensors[0].type = "F7"
        case "shape": builder.tensors[0].shape = [-2, 3]
        case "trailing": builder.trailing = [0]
        default: builder.tensors[1].claimedOffsets = [40, 24]
        }
        let error = #expect(throws: ModelFileError.self) { try open(builder.bytes()) }
        #expect(error?.description.contains(text) == true, "\(String(describing: error))")
    }

    @Test func `no cut and no changed byte of a header traps`() throws {
        let bytes = good.bytes()
        for count in 0..<bytes.count { #expect(throws: ModelFileError.self) { try open(Array(bytes[..<count])) } }
        let length = Int(bytes[0]) + 256 * Int(bytes[1])
        for index in 0..<8 + length {
            for value: UInt8 in [0, 0x22, 0x2d, 0x39, 0x5d, 0x7d, 0xff] {
                var changed = bytes
                changed[index] = value
                _ = try? open(changed)
            }
        }
    }

    @Test func `dimensions whose product overflows are refused`() throws {
        var builder = good
        builder.tensors[0].shape = [1 << 40, 1 << 40]
        #expect(throws: ModelFileError.self) { try open(builder.bytes()) }
    }

    @Test func `names of a document that look alike stay apart`() throws {
        let json = try JSON(
            parsing: Array("{\"\u{212B}\": 1, \"\u{C5}\": 2, \"e\\u0301\": 3, \"\u{E9}\": 4}".utf8), .modelFiles)
        #expect(json.object?.members.compactMap(\.value.int) == [1, 2, 3, 4])
        #expect(
            try JSON(parsing: Array("[1e3, 2.0, -7, 1.5, 1e99, true]".utf8), .modelFiles).array?.map(\.int)
                == [1000, 2, -7, nil, nil, nil])
    }
}
