@testable import Networks
import TestSupport
import Testing

@testable import LocalLLM

@Suite struct GGUFSplitTests {
    private static func part(_ index: Int, of count: Int, tensors: [String], total: Int = 4) -> GGUFBuilder {
        GGUFBuilder(
            [
                "part": .int32(Int32(index)), "split.no": .uint16(UInt16(index)),
                "split.count": .uint16(UInt16(count)), "split.tensors.count": .int32(Int32(total)),
            ],
            tensors: tensors.map { .init($0, shape: [2], [Float(index), 1]) })
    }

    private static func name(_ index: Int, of count: Int) -> String { "m-0000\(index + 1)-of-0000\(count).gguf" }

    private let directory: TemporaryDirectory
    private let paths: [String]

    init() throws {
        directory = try TemporaryDirectory()
        let names = [[], ["a", "b"], ["c", "d"]]
        var paths: [String] = []
        for (i, tensors) in names.enumerated() {
            paths.append(
                try directory.write(Self.part(i, of: 3, tensors: tensors).bytes(), as: Self.name(i, of: 3)))
        }
        self.paths = paths
    }

    private func replacePart(_ index: Int, by builder: GGUFBuilder) throws -> ModelFileError? {
        _ = try directory.write(builder.bytes(), as: Self.name(index, of: 3))
        return #expect(throws: ModelFileError.self) { try GGUFFile(path: paths[0]) }
    }

    @Test(arguments: 0..<3)
    func `any part opens the whole model`(index: Int) throws {
        let file = try GGUFFile(path: paths[index])
        #expect(try file.metadata.int("part") == 0)
        #expect(file.tensors.map(\.name) == ["a", "b", "c", "d"])
        #expect(try ModelReader(file).tensor("c", shape: [2]).bytes.loadUnaligned(as: Float.self) == 2)
        #expect(file.byteCount == paths.reduce(0) { $0 + (try! MappedFile(path: $1)).bytes.count })
    }

    @Test(arguments: [(0, -1), (1, -1), (1, 5), (3, -1)])
    func `a file that miscounts the tensors of its parts is refused`(count: Int, total: Int) throws {
        var builder = Self.part(0, of: count, tensors: ["a", "b"], total: total)
        builder.metadata.append(("general.architecture", .string("llama")))
        let error = #expect(throws: ModelFileError.self) {
            try GGUFFile(path: directory.write(builder.bytes(), as: "m-00001-of-00003.gguf"))
        }
        #expect(error?.reason == .badSplit)
        #expect(error?.message.contains("split.tensors.count") == true, "\(error as Any)")
    }

    @Test func `a missing part is named`() throws {
        let lonely = try TemporaryDirectory()
        let path = try lonely.write(Self.part(0, of: 3, tensors: []).bytes(), as: Self.name(0, of: 3))
        let error = #expect(throws: ModelFileError.self) { try GGUFFile(path: path) }
        #expect(error?.reason == .badSplit)
        #expect(error?.message.contains("Part 2 of 3 is missing") == true)
        #expect(error?.message.contains(Self.name(1, of: 3)) == true)
    }

    @Test func `a part that was renamed is told what its name must end in`() throws {
        let path = try directory.write(Self.part(1, of: 3, tensors: ["a"]).bytes(), as: "renamed.gguf")
        let error = #expect(throws: ModelFileError.self) { try GGUFFile(path: path) }
        #expect(error?.reason == .badSplit)
        #expect(error?.message.contains("-00002-of-00003.gguf") == true)
    }

    @Test func `parts that do not belong together are refused`() throws {
        #expect(try replacePart(1, by: Self.part(2, of: 3, tensors: ["a", "b"]))?.reason == .badSplit)
        #expect(try replacePart(1, by: Self.part(1, of: 4, tensors: ["a", "b"]))?.reason == .badSplit)
        #expect(try replacePart(1, by: Self.part(1, of: 3, tensors: ["a", "b"], total: 5))?.reason == .badSplit)
        #expect(try replacePart(1, by: Self.part(1, of: 3, tensors: ["a"]))?.message.contains("4 tensors") == true)
        #expect(try replacePart(1, by: Self.part(1, of: 3, tensors: ["a", "c"]))?.reason == .malformed)
        #expect(try replacePart(1, by: everyKind)?.reason == .badSplit)
    }

    @Test(arguments: [(3, 3), (-1, 3), (0, 65536), (0, -1), (1, 0)] as [(Int64, Int64)])
    func `a part's number must lie in the count of parts`(index: Int64, count: Int64) throws {
        let builder = GGUFBuilder(["split.no": .int64(index), "split.count": .int64(count)])
        let path = try directory.write(builder.bytes(), as: "m.gguf")
        let error = #expect(throws: ModelFileError.self) { try GGUFFile(path: path) }
        #expect(error?.reason == .badSplit)
    }

    @Test func `a split in one part is a whole model`() throws {
        let path = try directory.write(Self.part(0, of: 1, tensors: ["a"], total: 1).bytes(), as: "whole.gguf")
        #expect(try GGUFFile(path: path).tensors.count == 1)
    }
}
