@testable import Compute
import KernelFormats
import Testing
import Tiers

@testable import LocalLLM

/// Kernels read a place in memory from each column of a tile, so none may be left as it was.
@Suite(.enabled(if: KernelSet.best.wideProducts != nil, "this processor has no VNNI"))
struct WideActivationsTests {
    @Test(arguments: 17...30, [0, 1, 4])
    func `all columns of a tile hold numbers, whatever its memory held`(tokens: Int, paired: Int) throws {
        let columns = 288
        let kernels = try #require(KernelSet.best.wideProducts)
        let values = AlignedBuffer(floats: tokens * columns)
        for index in 0..<tokens * columns { values.floats[index] = Float(index % 13) - 6 }
        var activations = WideActivations(
            values.matrix(rows: tokens, columns: columns), paired: paired, WideScheme(kernels))
        let bytes = activations.bytes
        let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 64)
        defer { memory.deallocate() }
        memory.initializeMemory(as: UInt8.self, repeating: 0xff, count: bytes)
        activations.place(at: memory)
        for index in 0..<activations.tileCount {
            activations.fill(index)
            let tile = activations[index]
            for part in 0..<columns / 32 {
                for column in 0..<tile.columns {
                    let slice = tile.base + part / WideTile.sliceParts * tile.sliceStride
                    let place = part % WideTile.sliceParts * tile.columns + column
                    let eighths = slice.load(
                        fromByteOffset: WideTile.multiples * tile.columns + 4 * place, as: Int32.self)
                    #expect(eighths >= 0 && eighths < 512 && eighths % 64 == 0)
                }
            }
        }
        withExtendedLifetime(values) {}
    }
}
