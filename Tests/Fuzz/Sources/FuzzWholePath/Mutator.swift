import TestSupport

@_silgen_name("LLVMFuzzerMutate")
private func mutateBytes(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int) -> Int

private let grammar = WholePathRequests.seeds.compactMap { JSONTree($0.body.utf8) }
private let members = grammar.flatMap(\.members)
private let paths = WholePathRequests.seeds.map { Array($0.path.utf8) }
private let hostile =
    WholePathRequests.pieces.filter { JSONTree($0) != nil }
    + ["0.5", "16", "2", "\"a\"", "false"].map { Array($0.utf8) }

/// Changes a value for one of the same kind of place, most often: bytes that are no JSON end at the first step.
private func mutate(_ tree: inout JSONTree, _ random: inout SeededGenerator) {
    var number = Int.random(in: 0..<tree.count, using: &random)
    tree.change(&number) { value in
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1: value = .scalar(hostile.randomElement(using: &random)!)
        case 2: value = members.randomElement(using: &random)!.value
        case 3: value = .array(Array(repeating: value, count: Int.random(in: 0...3, using: &random)))
        case 4: value = .object([(members.randomElement(using: &random)!.key, value)])
        case 5:
            if case .scalar(let text) = value, text.first == 0x22 {
                let piece = hostile.randomElement(using: &random)!.filter { $0 != 0x22 && $0 != 0x5c && $0 >= 0x20 }
                value = .scalar(text.dropLast() + piece + [0x22])
            } else {
                value = .scalar(Array("\(Int.random(in: -2...300, using: &random))".utf8))
            }
        default:
            // A member more, one less, or one of a body of another kind.
            guard case .object(var own) = value else { return value = .scalar(hostile.randomElement(using: &random)!) }
            if own.count > 1, Bool.random(using: &random) {
                own.remove(at: Int.random(in: 0..<own.count, using: &random))
            }
            if Bool.random(using: &random) { own.append(members.randomElement(using: &random)!) }
            value = .object(own)
        }
    }
}

/// What libFuzzer calls to make an input of another: a path, a line feed, and a body. The first inputs are the bodies that are
/// right, of every route.
@_cdecl("LLVMFuzzerCustomMutator")
public func customMutator(
    _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: UInt32
) -> Int {
    var random = SeededGenerator(seed: UInt64(seed))
    let input = Array(UnsafeBufferPointer(start: bytes, count: count))
    let cut = input.firstIndex(of: 0x0a) ?? 0
    func replace(with output: [UInt8]) -> Int {
        guard output.count <= limit else { return mutateBytes(bytes, count, limit) }
        _ = UnsafeMutableBufferPointer(start: bytes, count: limit).update(fromContentsOf: output)
        return output.count
    }
    let choice = Int.random(in: 0..<100, using: &random)
    if choice == 0 || cut == 0 {
        let (path, body) = WholePathRequests.seeds.randomElement(using: &random)!
        return replace(with: Array("\(path)\n\(body)".utf8))
    }
    guard choice > 20, var tree = JSONTree(input[cut...].dropFirst()) else { return mutateBytes(bytes, count, limit) }
    for _ in 0..<Int.random(in: 1...3, using: &random) { mutate(&tree, &random) }
    var path = Array(input[..<cut])
    if Int.random(in: 0..<16, using: &random) == 0 { path = paths.randomElement(using: &random)! }
    return replace(with: path + [0x0a] + tree.bytes)
}
