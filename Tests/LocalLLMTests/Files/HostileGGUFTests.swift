import Foundation
import TestSupport
import Testing

@testable import LocalLLM

@Suite struct HostileGGUFTests {
    @Test func `a file cut off anywhere is an error and no crash`() throws {
        let whole = everyKind.bytes()
        #expect(openingError(whole) == nil)
        for length in 0..<whole.count {
            let error = try #require(openingError(Array(whole[..<length])), "cut to \(length) bytes")
            #expect(error.reason == .truncated, "cut to \(length) bytes: \(error)")
        }
    }

    struct Case: CustomTestStringConvertible {
        var testDescription: String
        let reason: ModelFileError.Reason
        /// What the message must name.
        let names: String
        let builder: GGUFBuilder

        init(
            _ name: String, _ reason: ModelFileError.Reason, _ names: String, _ change: (inout GGUFBuilder) -> Void
        ) {
            var builder = GGUFBuilder(
                ["general.architecture": .string("llama")],
                tensors: [.init("w", shape: [8, 2], Array(repeating: 1, count: 16))])
            change(&builder)
            self.testDescription = name
            self.reason = reason
            self.names = names
            self.builder = builder
        }
    }

    static let cases: [Case] = [
        .init("another format", .badMagic, "67 67 6a 74") { $0.magic = Array("ggjt".utf8) },
        .init("safetensors", .badMagic, "safetensors") {
            $0.magic = [0x90, 1, 0, 0, 0, 0, 0, 0] + Array("{\"a\":".utf8)
        },
        .init("version 1", .unsupported, "version 1") { $0.version = 1 },
        .init("a version to come", .unsupported, "version 4") { $0.version = 4 },
        .init("big-endian", .unsupported, "big-endian") { $0.version = UInt32(3).byteSwapped },
        .init("more keys than bytes", .truncated, "18446744073709551615") { $0.claimedKeyCount = .max },
        .init("more tensors than bytes", .truncated, "4611686018427387904") { $0.claimedTensorCount = 1 << 62 },
        .init("key twice", .malformed, "'general.architecture'") {
            $0.metadata.append(("general.architecture", .bool(true)))
        },
        .init("tensor twice", .malformed, "'w'") { $0.tensors.append($0.tensors[0]) },
        .init("unknown value type", .malformed, "type 13") { $0.metadata.append(("k", .raw(type: 13, []))) },
        .init("unknown element type", .malformed, "type 99") {
            $0.metadata.append(("k", .raw(type: 9, [99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])))
        },
        .init("string longer than the file", .truncated, "'k'") {
            $0.metadata.append(("k", .raw(type: 8, Array(repeating: 0xff, count: 8))))
        },
        .init("array longer than the file", .truncated, "'k'") {
            $0.metadata.append(("k", .raw(type: 9, [12, 0, 0, 0] + Array(repeating: 0x7f, count: 8))))
        },
        .init("array of arrays longer than the file", .truncated, "'k'") {
            $0.metadata.append(("k", .raw(type: 9, [9, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])))
        },
        .init("arrays nested too deep", .malformed, "nests") {
            $0.metadata.append(("k", (0..<9).reduce(.uint8(1)) { value, _ in .array([value]) }))
        },
        .init("arrays nested far too deep", .malformed, "nests") {
            let array: [UInt8] = [9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
            $0.metadata.append(("k", .raw(type: 9, (0..<100_000).flatMap { _ in array })))
        },
        .init("neither true nor false", .malformed, "'k'") { $0.metadata.append(("k", .raw(type: 7, [2]))) },
        .init("neither true nor false in an array", .malformed, "'k'") {
            $0.metadata.append(("k", .raw(type: 9, [7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2])))
        },
        .init("key too long", .malformed, "65536 bytes") {
            $0.metadata.append((String(repeating: "k", count: 65536), .bool(true)))
        },
        .init("tensor name too long", .malformed, "65 bytes") {
            $0.tensors[0].name = String(repeating: "w", count: 65)
        },
        .init("alignment not a power of two", .badMetadata, "48") {
            $0.metadata.append(("general.alignment", .uint32(48)))
        },
        .init("alignment 0", .badMetadata, "is 0") { $0.metadata.append(("general.alignment", .uint32(0))) },
        .init("alignment negative", .badMetadata, "is -8") { $0.metadata.append(("general.alignment", .int32(-8))) },
        .init("alignment beyond Int", .badMetadata, "general.alignment") {
            $0.metadata.append(("general.alignment", .uint64(1 << 63)))
        },
        .init("alignment a string", .badMetadata, "general.alignment") {
            $0.metadata.append(("general.alignment", .string("32")))
        },
        .init("alignment beyond the file", .truncated, "'w'") {
            $0.metadata.append(("general.alignment", .uint64(1 << 31)))
        },
        .init("five dimensions", .malformed, "5 dimensions") { $0.tensors[0].shape = [1, 1, 1, 1, 1] },
        .init("dimension 0", .malformed, "[8, 0]") { $0.tensors[0].shape = [8, 0] },
        .init("dimension beyond Int", .malformed, "'w'") { $0.tensors[0].shape = [.max] },
        .init("dimensions whose product overflows", .malformed, "'w'") { $0.tensors[0].shape = [1 << 32, 1 << 32] },
        .init("values whose bytes overflow", .malformed, "'w'") { $0.tensors[0].shape = [1 << 62] },
        .init("row of broken blocks", .malformed, "1000 values is not whole blocks of 256, as Q4_K") {
            $0.tensors[0].type = 12
            $0.tensors[0].shape = [1000, 256]
        },
        .init("type dropped by ggml", .unsupported, "type 4") { $0.tensors[0].type = 4 },
        .init("type nobody knows", .unsupported, "type 4294967295") { $0.tensors[0].type = .max },
        .init("offset unaligned", .malformed, "alignment 32") { $0.tensors[0].offset = 8 },
        .init("offset beyond the file", .truncated, "'w'") { $0.tensors[0].offset = 32 },
        .init("offset beyond Int", .truncated, "'w'") { $0.tensors[0].offset = 0xffff_ffff_ffff_ffe0 },
        .init("tensors that overlap", .malformed, "'v' overlap") {
            $0.tensors.append(.init("v", shape: [8], Array(repeating: 1, count: 8)))
            $0.tensors[1].offset = 32
        },
        .init("more data than the file", .truncated, "'w'") { $0.tensors[0].shape = [8, 3] },
    ]

    @Test(arguments: cases)
    func `what contradicts the format is refused, and the message names it`(_ test: Case) throws {
        let error = try #require(openingError(test.builder.bytes()))
        #expect(error.reason == test.reason)
        #expect(error.message.contains(test.names), "\(error)")
    }

    @Test func `names that are not UTF-8 are refused`() throws {
        let bytes = everyKind.bytes()
        for name in ["general.architecture", "matrix"] {
            var broken = bytes
            let place = try #require(broken.firstRange(of: Array(name.utf8)))
            broken[place.lowerBound] = 0xff
            #expect(openingError(broken)?.reason == .malformed)
        }
    }

    @Test func `what is not a file, or a pointer to one, is said to be so`() throws {
        let directory = try TemporaryDirectory()
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
        #expect(openingError(Array(pointer.utf8))?.message.contains("Git LFS") == true)
        #expect(openingError([])?.message == "The file is empty.")
        for path in [directory.url.path, directory.url.path + "/absent.gguf", "/dev/null"] {
            let error = #expect(throws: ModelFileError.self) { try GGUFFile(path: path) }
            #expect(error?.reason == .unreadable)
            #expect(error?.path == path)
        }
    }
}
