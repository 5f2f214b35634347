import Foundation
import Template

private let variables: TemplateObject = [
    "messages": .array([
        .object(["role": .string("system"), "content": .string("Grüße, 日本 🚀\n")]),
        .object([
            "role": .string("user"),
            "content": .array([.object(["type": .string("text"), "text": .string("hi")])]),
        ]),
    ]),
    "n": .int(.max), "f": .double(-1.5), "t": .bool(true), "z": .none, "e": .array([]), "s": .string("a b"),
    "add_generation_prompt": .bool(true), "bos_token": .string("<s>"),
]

private let limits = {
    var limits = ChatTemplate.Limits()
    (limits.steps, limits.outputBytes) = (5_000, 2_000)
    return limits
}()

// Nothing may trap, whatever the template says; what it writes is bounded, and the same every time.
private func check(_ bytes: [UInt8]) {
    guard let template = try? ChatTemplate(String(decoding: bytes, as: UTF8.self)) else { return }
    let render = { Result { try template.render(variables, limits: limits, now: Date(timeIntervalSince1970: 0)) } }
    switch (render(), render()) {
    case (.success(let once), .success(let again)):
        precondition(once.utf8.count <= limits.outputBytes, "more is written than may be")
        precondition(once.utf8.elementsEqual(again.utf8), "another text the second time")
    case (.failure, .failure): break
    default: preconditionFailure("an error only once")
    }
}

/// What libFuzzer, whose library has the `main`, calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
