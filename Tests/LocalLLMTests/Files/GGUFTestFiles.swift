import TestSupport

@testable import LocalLLM

extension GGUFFile {
    /// Opens what the builder writes, without a file.
    static func open(_ builder: GGUFBuilder) throws(ModelFileError) -> GGUFFile { try open(builder.bytes()) }

    static func open(_ bytes: [UInt8]) throws(ModelFileError) -> GGUFFile {
        try GGUFFile(path: "test.gguf", parts: [GGUFPart(MappedFile(path: "test.gguf", contents: bytes))])
    }
}

/// The error that opening these bytes gives, if any.
func openingError(_ bytes: [UInt8]) -> ModelFileError? {
    do {
        _ = try GGUFFile.open(bytes)
        return nil
    } catch {
        return error
    }
}

/// One key of each type, and tensors of several.
let everyKind = GGUFBuilder(
    [
        "general.architecture": .string("llama"),
        "u8": .uint8(200), "i8": .int8(-100), "u16": .uint16(60000), "i16": .int16(-30000),
        "u32": .uint32(4_000_000_000), "i32": .int32(-2_000_000_000),
        "u64": .uint64(1 << 40), "i64": .int64(-1 << 40), "huge": .uint64(.max),
        "f32": .float32(1.5), "f64": .float64(0.1), "yes": .bool(true), "no": .bool(false),
        "ints": .int32s([3, -1, 4]), "floats": .floats([0.5, 0.25]), "names": .strings(["a", "", "böse"]),
        "bools": .array([.bool(true), .bool(false)]), "binary": .array([.bytes([0xff, 0x00]), .bytes([])]),
        "nested": .array([.array([.string("x"), .string("yz")]), .array([.string("w")])]), "empty": .array([]),
        "not utf-8": .bytes([0xc3, 0x28]),
    ],
    tensors: [
        .init("vector", shape: [3], [1, 2, 3]),
        .init("matrix", shape: [2, 3], [1, 2, 3, 4, 5, 6]),
        .init("quantized", type: 8, shape: [64, 2], data: Array(repeating: 7, count: 4 * 34)),
        .init("scalar", type: 0, shape: [], data: [0, 0, 128, 63]),
    ])
