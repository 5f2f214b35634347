@testable import GGUF
import Foundation
import Glibc
import TestSupport
import Testing

@testable import LocalLLM

@Suite(.timeLimit(.minutes(5))) struct ShrinkingFileTests {
    @Test func `bytes that are gone are zeros, and the file is known to be lost`() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write(Array(repeating: 7, count: 100_000), as: "f")
        let file = try MappedFile(path: path)
        let other = try MappedFile(path: try directory.write(Array(repeating: 8, count: 100_000), as: "g"))
        #expect(file.bytes[99_999] == 7 && file.range?.isLost == false)
        truncate(path, 10_000)
        #expect(file.bytes[9_999] == 7)
        #expect(file.bytes[99_999] == 0 && file.bytes[50_000] == 0)
        #expect(file.range?.isLost == true)
        #expect(other.bytes[99_999] == 8 && other.range?.isLost == false)
    }

    /// With its weights where the file has them.
    @Test func `a model whose file shrinks fails, and the process goes on`() async throws {
        let directory = try TemporaryDirectory()
        let url = try TinyModel().write(in: directory)
        let other = try await LocalModel.load(
            from: try TinyModel().write(in: directory, as: "other.gguf"), configuration: .init(threads: 1))
        let model = try await LocalModel.load(from: url, configuration: .init(threads: 1))
        let prompt = (0..<40).map { Int32($0 + 3) }
        func answer(_ model: LocalModel) async throws -> Int {
            var count = 0
            for try await piece in model.generate(tokens: prompt, options: .init(maximumTokens: 2)) {
                count += piece.tokens.count
            }
            return count
        }
        #expect(try await answer(model) > 0)
        truncate(url.path, 4096)
        for _ in 0..<2 {
            let error = await #expect(throws: ModelFileError.self) { try await answer(model) }
            #expect(error?.reason == .truncated)
            #expect(error?.message.contains("truncated while in use") == true)
        }
        await #expect(throws: ModelFileError.self) { _ = try await model.embeddings(of: [prompt]) }
        #expect(try await answer(other) > 0)
    }

    // Older versions of swift-testing run no test in a process of its own.
    #if compiler(>=6.2)
        @Test func `a signal for other addresses ends the process as before`() async throws {
            await #expect(processExitsWith: .signal(SIGBUS)) {
                let directory = try TemporaryDirectory()
                let path = try directory.write(Array(repeating: 7, count: 100_000), as: "f")
                _ = try MappedFile(path: path)
                let descriptor = open(path, O_RDONLY)
                let base = mmap(nil, 100_000, PROT_READ, MAP_SHARED, descriptor, 0)
                truncate(path, 0)
                exit(base?.load(fromByteOffset: 50_000, as: Int32.self) ?? 0)
            }
        }
    #endif
}
