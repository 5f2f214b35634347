@testable import Networks
@testable import GGUF
import KernelFormats
import TestSupport
import Testing

@testable import LocalLLM

@Suite struct GGUFFileTests {
    @Test(arguments: [2, 3] as [UInt32])
    func `every kind of metadata is read as written`(version: UInt32) throws {
        var builder = everyKind
        builder.version = version
        let metadata = try GGUFFile.open(builder).metadata

        #expect(metadata.keys == builder.metadata.map(\.key))
        #expect(try metadata.int("u8") == 200)
        #expect(try metadata.int("i8") == -100)
        #expect(try metadata.int("u16") == 60000)
        #expect(try metadata.int("i16") == -30000)
        #expect(try metadata.int("u32") == 4_000_000_000)
        #expect(try metadata.int("i32") == -2_000_000_000)
        #expect(try metadata.int("u64") == 1 << 40)
        #expect(try metadata.int("i64") == -1 << 40)
        #expect(try metadata.double("f32") == 1.5)
        #expect(try metadata.double("f64") == 0.1)
        #expect(try metadata.bool("yes"))
        #expect(try !metadata.bool("no"))
        #expect(try metadata.string("general.architecture") == "llama")
        #expect(try metadata.ints("ints") == [3, -1, 4])
        #expect(try metadata.doubles("floats") == [0.5, 0.25])
        #expect(try metadata.strings("names") == ["a", "", "böse"])
        #expect(try metadata.bools("bools") == [true, false])
        #expect(try metadata.byteStrings("binary") == [[0xff, 0x00], []])
        #expect(try metadata.ints("empty").isEmpty)
        let nested = metadata["nested"]?.array?.decode { $0.array?.decode(\.string) }
        #expect(nested == [["x", "yz"], ["w"]])
    }

    @Test func `a key that is absent is nil or an error that names it`() throws {
        let metadata = try GGUFFile.open(everyKind).metadata
        #expect(try metadata.intIfPresent("llama.block_count") == nil)
        let error = #expect(throws: ModelFileError.self) { try metadata.int("llama.block_count") }
        #expect(error?.reason == .missingMetadata)
        #expect(error?.message == "The metadata key 'llama.block_count' is missing.")
    }

    @Test func `a key of another type is an error that names both types`() throws {
        let metadata = try GGUFFile.open(everyKind).metadata
        func message(_ get: () throws(ModelFileError) -> Void) -> String? {
            do { try get() } catch { return error.reason == .badMetadata ? error.message : nil }
            return nil
        }
        #expect(
            message { () throws(ModelFileError) in _ = try metadata.intIfPresent("f32") }
                == "The metadata key 'f32' must be an integer below 2^63, but is float32 1.5.")
        #expect(
            message { () throws(ModelFileError) in _ = try metadata.int("huge") }
                == "The metadata key 'huge' must be an integer below 2^63, but is uint64 18446744073709551615.")
        #expect(
            message { () throws(ModelFileError) in _ = try metadata.doubles("ints") }
                == "The metadata key 'ints' must be an array of floats, but is array of 3 × int32.")
        #expect(
            message { () throws(ModelFileError) in _ = try metadata.string("not utf-8") }
                == "The metadata key 'not utf-8' must be a UTF-8 string, but is string.")
        #expect(
            message { () throws(ModelFileError) in _ = try metadata.double("u8") }
                == "The metadata key 'u8' must be a float, but is uint8 200.")
        #expect(
            message { () throws(ModelFileError) in _ = try metadata.bool("u8") }
                == "The metadata key 'u8' must be a bool, but is uint8 200.")
    }

    @Test func `a number for all layers and an array with one for each are both taken`() throws {
        let metadata = try GGUFFile.open(everyKind).metadata
        #expect(try metadata.intsPerLayer("u8", layers: 2) == [200, 200])
        #expect(try metadata.intsPerLayer("ints", layers: 3) == [3, -1, 4])
        #expect(throws: ModelFileError.self) { try metadata.intsPerLayer("ints", layers: 4) }
        #expect(throws: ModelFileError.self) { try metadata.intsPerLayer("absent", layers: 4) }
    }

    @Test(arguments: [8, 32, 64, 4096])
    func `tensors lie where the file says`(alignment: Int) throws {
        var builder = everyKind
        builder.alignment = alignment
        builder.metadata.append(("general.alignment", .uint32(UInt32(alignment))))
        let file = try GGUFFile.open(builder)

        #expect(file.tensors.map(\.name) == ["vector", "matrix", "quantized", "scalar"])
        #expect(file.byteCount == builder.bytes().count)
        for (tensor, written) in zip(file.tensors, builder.tensors) {
            #expect(Array(tensor.bytes) == written.data)
            #expect(tensor.range.lowerBound % alignment == 0)
        }
        let quantized = try ModelReader(file).tensor("quantized", shape: [64, 2])
        #expect(quantized.type == .Q8_0 && quantized.rowBytes == 68 && quantized.count == 128)
        #expect(file.tensorIfPresent("scalar")?.shape == [1])
    }

    @Test func `a tensor that is missing or has another shape is an error that says so`() throws {
        let file = try ModelReader(GGUFFile.open(everyKind))
        let missing = #expect(throws: ModelFileError.self) { try file.tensor("output.weight", shape: [2, 3]) }
        #expect(missing?.reason == .missingTensor)
        #expect(missing?.message == "Tensor 'output.weight' of shape [2, 3] is missing.")
        let wrong = #expect(throws: ModelFileError.self) { try file.tensor("matrix", shape: [3, 2]) }
        #expect(wrong?.reason == .badTensor)
        #expect(wrong?.message == "Tensor 'matrix' must have the shape [3, 2], but has [2, 3].")
        #expect(try file.tensorIfPresent("output.weight", shape: [2]) == nil)
        #expect(throws: ModelFileError.self) { try file.tensorIfPresent("matrix", shape: [3, 2]) }
        #expect(try file.tensor("vector", shape: [3, 1]).shape == [3])
    }

    @Test func `a tensor can be read when nothing else holds the file, whatever was prefetched`() throws {
        var builder = everyKind
        let data = SeededGenerator.bytes(3 * 4096, seed: 1)
        builder.tensors.append(.init("big", type: 24, shape: [UInt64(data.count)], data: data))
        let directory = try TemporaryDirectory()
        let path = try directory.write(builder.bytes(), as: "test.gguf")
        let tensors = [try GGUFFile(path: path), try GGUFFile.open(builder)].map { $0.tensorIfPresent("big") }
        for tensor in tensors {
            let tensor = try #require(tensor)
            tensor.file.prefetch(tensor.range)
            tensor.file.prefetch(-5..<Int.max)
            let same = tensor.bytes.elementsEqual(data)
            #expect(same)
        }
    }
}
