import Foundation
import JSON

// What is read is written as it came, and is JSON for another reader too; limits hold.
private func check(_ bytes: [UInt8]) {
    let limits = JSON.Limits(depth: 16, values: 64, allowsDuplicates: false)
    guard let value = try? JSON(parsing: bytes, limits) else { return }
    let text = value.bytes
    guard let again = try? JSON(parsing: text, limits) else { preconditionFailure("what was written cannot be read") }
    precondition(again == value && again.bytes == text, "another value the second time")
    if let encoded = try? JSON.encode(value) { precondition(encoded == text, "the encoder writes something else") }
    // Foundation refuses numbers that no double has.
    let hasLongNumbers = bytes.contains { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") } || bytes.count > 300
    let foundation = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
    precondition(hasLongNumbers || foundation != nil, "Foundation refuses it")
}

/// What libFuzzer, whose library has the `main`, calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
