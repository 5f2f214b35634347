import Compute
import Cryptography
import Foundation

@testable import Engine

private let path = NSTemporaryDirectory() + "fuzz-slot-\(getpid())"
private let limit = 1 << 16

/// Of a model with keys and values, and of one that has checkpoints, too. Not a constant, whose boxes LeakSanitizer takes for
/// lost.
private func shape(hasCheckpoints: Bool) -> StateShape {
    let attention = LayerState.keysAndValues(heads: 1, keyWidth: 8, valueWidth: 8)
    return StateShape(hasCheckpoints ? [attention, .recurrent(floats: 4)] : [attention])
}

// Nothing may trap, whatever a file says whose checksum is right. What is accepted is no larger than
// the file, and agrees with itself.
private func check(_ bytes: [UInt8]) {
    let content = bytes.dropFirst()
    let hash = SHA256()
    hash.add(Array(content))
    let contents = Array("LLMSLOT1".utf8) + hash.digest + content
    try! Data(contents).write(to: URL(filePath: path))
    let shape = shape(hasCheckpoints: bytes.first.map { $0 % 2 == 1 } ?? false)
    guard let file = try? SlotFile(path: path, shape, limit: limit) else { return }
    precondition(file.head.savedTokens <= file.head.tokens.count, "more states than tokens")
    precondition(file.head.promptTokens <= file.head.tokens.count, "a prompt that is longer than the text")
    precondition(file.head.promptPages <= file.pages.count, "more pages of the prompt than pages")
    precondition(file.bytes == contents.count, "another number of bytes than the file has")
    let parts = zip(file.pages, file.checkpoints).flatMap { $0 + ($1 ?? []) }
    precondition(parts.reduce(0) { $0 + $1.byteCount } <= contents.count + 64 * parts.count, "more states than bytes")
}

/// What libFuzzer, whose library has the `main`, calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
