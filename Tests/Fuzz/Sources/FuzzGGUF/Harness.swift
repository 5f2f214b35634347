@testable import GGUF

// Nothing may trap, whatever the file holds, on opening it and on reading all that a file that opens promises.
private func check(_ bytes: [UInt8]) {
    guard let part = try? GGUFPart(MappedFile(path: "fuzz.gguf", contents: bytes)),
        let file = try? GGUFFile(path: "fuzz.gguf", parts: [part])
    else { return }
    // Nothing is made of nothing: what is kept of a file is bounded by its size.
    precondition(readEverything(in: file) <= bytes.count, "more elements than bytes")
}

/// What libFuzzer, whose library has the `main`, calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
