import TestSupport
import Testing

@testable import LocalLLM

@Suite struct FuzzedGGUFTests {
    /// Mutates a whole file: flips bits, blows up lengths and counts, cuts, and repeats pieces.
    static func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        for _ in 0..<Int.random(in: 1...3, using: &random) where bytes.count > 8 {
            let place = Int.random(in: 0..<(bytes.count - 8), using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 2:
                let length: [UInt8] = [[0xff, 0], [0x7f, 0xff], [0, 0x80]].randomElement(using: &random)!
                for i in 0..<8 { bytes[place + i] = length[i % 2] }
            case 3: bytes.removeLast(Int.random(in: 0..<min(64, bytes.count), using: &random))
            default:
                let count = Int.random(in: 1...8, using: &random)
                bytes.insert(contentsOf: bytes[place..<(place + count)], at: place)
            }
        }
    }

    @Test(arguments: 0..<4)
    func `no mutation of a file crashes the reader`(seed: UInt64) {
        var builder = everyKind
        builder.metadata.append(contentsOf: tinyVocabulary.metadata)
        let whole = builder.bytes()
        var random = SeededGenerator(seed: seed)
        var refused = 0
        let runs = 5000
        for _ in 0..<runs {
            var bytes = whole
            Self.mutate(&bytes, &random)
            do {
                let file = try GGUFFile.open(bytes)
                // Nothing is made of nothing: what is kept of a file is bounded by its size.
                #expect(readEverything(in: file) <= file.byteCount)
            } catch {  // typed: a ModelFileError
                refused += 1
            }
        }
        // Mutations of values go unnoticed, those of lengths do not.
        #expect(refused > runs / 4 && refused < runs)
    }
}
