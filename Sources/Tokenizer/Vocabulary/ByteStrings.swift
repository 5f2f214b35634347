/// Many short byte strings in one block of memory.
struct ByteStrings: Sendable {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    init(capacity: Int) {
        ends.reserveCapacity(capacity)
        bytes.reserveCapacity(8 * capacity)
    }

    var count: Int { ends.count }

    mutating func append(_ string: some Sequence<UInt8>) {
        bytes.append(contentsOf: string)
        ends.append(bytes.count)
    }

    func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

    subscript(index: Int) -> ArraySlice<UInt8> { bytes[range(index)] }

    func withBytes<R>(of index: Int, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        let range = range(index)
        return bytes.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[range])) }
    }
}
