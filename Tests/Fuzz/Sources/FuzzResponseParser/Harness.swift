@testable import HTTP

// Nothing may trap, and what bytes parse to may not depend on how they were cut: at once, one by one, or in two at a
// place that the input itself chooses. Limits are small, so that short inputs reach them.
private func check(_ bytes: [UInt8]) {
    var limits = Limits()
    (limits.requestLine, limits.headerBytes, limits.headerCount) = (64, 256, 8)
    let whole = ResponseOutcome([bytes[...]], limits: limits)
    let cut = Int(bytes.last ?? 0) % (bytes.count + 1)
    precondition(
        ResponseOutcome([bytes[..<cut], bytes[cut...]], limits: limits) == whole, "depends on the cut at \(cut)")
    let single = bytes.indices.map { bytes[$0...$0] }
    precondition(ResponseOutcome(single, limits: limits) == whole, "depends on coming byte by byte")

    guard let head = whole.heads.first else {
        precondition(whole.body.isEmpty && !whole.isWhole && !whole.mayEndHere, "a body without a head")
        return
    }
    precondition(whole.heads.count == 1 && (200...599).contains(head.status), "not one final answer")
    precondition(head.headers.fields.count <= limits.headerCount, "headers over the limit")
    precondition(whole.body.count <= bytes.count, "more body than bytes")
    let length = head.headers["Content-Length"].flatMap(Int.init)
    if whole.isWhole, head.headers["Transfer-Encoding"] == nil {
        let expected = head.status == 204 || head.status == 304 ? 0 : length
        precondition(whole.body.count == expected, "a body that is not as long as it says")
    }
    if whole.mayEndHere {
        precondition(length == nil && head.headers["Transfer-Encoding"] == nil, "a body that could be cut off unseen")
    }
}

/// What libFuzzer, whose library has the `main`, calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
