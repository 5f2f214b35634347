import Constraint

private let vocabulary = TokenVocabulary(
    bytes: (UInt8.min...UInt8.max).map { [$0] }
        + ["\":", "{\"", "\"}", ",\"", "ab", "12", "é", "\\n\""].map { Array($0.utf8) } + [[]],
    endOfGeneration: [264])

/// The first byte chooses the kind; what follows the last newline is read as a text.
private func check(_ bytes: [UInt8]) {
    guard let kind = bytes.first else { return }
    let cut = bytes.lastIndex(of: 0x0a) ?? bytes.count
    let source = String(decoding: bytes[1..<max(cut, 1)], as: UTF8.self)
    let text = cut < bytes.count ? Array(bytes[(cut + 1)...].prefix(100)) : []
    let style = Constraint.JSONStyle(
        whitespace: kind & 4 != 0 ? .free : kind & 32 != 0 ? .compact : .separators, anySpelling: kind & 8 != 0,
        dropsUnenforceable: true)
    let constraint: Constraint
    do {
        switch kind & 3 {
        case 0, 1: constraint = try Constraint.compile(.jsonSchema(source, style), vocabulary: vocabulary)
        case 2: constraint = try Constraint.compile(.regex(source), vocabulary: vocabulary)
        default:
            constraint = try Constraint.compile(
                kind & 16 == 0 ? .grammar(source) : .lark(source), vocabulary: vocabulary)
        }
    } catch {
        return
    }
    follow(constraint, text)
}

/// Nothing may trap, and what a mask allows is what is accepted.
private func follow(_ constraint: Constraint, _ text: [UInt8]) {
    var matcher = constraint.matcher()
    var mask = TokenMask(count: 0)
    do {
        for byte in text {
            try matcher.mask(into: &mask)
            for token in Int32(0)..<Int32(vocabulary.count) {
                let isAllowed = try matcher.allows(token)
                precondition(isAllowed == mask.contains(token), "the mask is wrong about token \(token)")
            }
            guard mask.contains(Int32(byte)) else { return }
            try matcher.accept(Int32(byte))
        }
    } catch {
        return  // the budget
    }
}

/// What libFuzzer, whose library has the `main`, calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
