@testable import HTTP

// Nothing may trap, and what bytes parse to may not depend on how they were cut: at once, one by one, or in two at a
// place that the input itself chooses. Limits are small, so that short inputs reach them.
private func check(_ bytes: [UInt8]) {
    var limits = Limits()
    (limits.requestLine, limits.headerBytes, limits.headerCount, limits.bodyBytes) = (64, 256, 8, 128)
    let whole = Outcome([bytes[...]], limits: limits)
    let cut = Int(bytes.last ?? 0) % (bytes.count + 1)
    precondition(Outcome([bytes[..<cut], bytes[cut...]], limits: limits) == whole, "depends on the cut at \(cut)")
    let single = bytes.indices.map { bytes[$0...$0] }
    precondition(Outcome(single, limits: limits) == whole, "depends on coming byte by byte")

    for message in whole.messages {
        precondition(message.body.count <= limits.bodyBytes, "a body over the limit")
        precondition(message.head.headers.fields.count <= limits.headerCount, "headers over the limit")
        if case .length(let length) = message.head.framing, message.isWhole {
            precondition(message.body.count == length, "a body that is not as long as it says")
        }
    }
}

/// What libFuzzer, whose library has the `main`, calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
