/// Where the numbers of a GGUF file's description are: what a hostile file changes.
struct Fields {
    struct Place {
        var offset: Int
        var width: Int
    }

    private(set) var places: [Place] = []
    /// Where the weights begin, but for the padding.
    private(set) var end = 0
    private let bytes: [UInt8]

    /// Of a file that is right.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        end = 4
        note(4)  // the version
        let tensors = note(8)
        let keys = note(8)
        for _ in 0..<keys {
            noteText()
            noteValue(type: note(4))
        }
        for _ in 0..<tensors {
            noteText()
            for _ in 0..<note(4) { note(8) }
            note(4)
            note(8)
        }
    }

    private func number(_ offset: Int, _ width: Int) -> Int {
        (0..<width).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
    }

    @discardableResult private mutating func note(_ width: Int) -> Int {
        places.append(Place(offset: end, width: width))
        end += width
        return number(end - width, width)
    }

    private mutating func noteText() {
        let length = note(8)
        // Its first letters and its last: names end in numbers, and differ there.
        for offset in Set([0, 1, length / 2, length - 2, length - 1]).sorted() where (0..<length).contains(offset) {
            places.append(Place(offset: end + offset, width: 1))
        }
        end += length
    }

    private mutating func noteValue(type: Int) {
        switch type {
        case 0, 1, 7: note(1)
        case 2, 3: note(2)
        case 4, 5, 6: note(4)
        case 8: noteText()
        case 9:
            let (type, count) = (note(4), note(8))
            for index in 0..<count {
                let before = places.count
                noteValue(type: type)
                // Of a long list some are enough.
                if index > 8, index % 37 != 0 { places.removeLast(places.count - before) }
            }
        default: note(8)
        }
    }
}
