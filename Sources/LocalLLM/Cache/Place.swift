/// Position of a row for M-RoPE: three equal coordinates in text; time, row and column in an image.
struct Place: Sendable, Equatable {
    var time: Int32
    var row: Int32
    var column: Int32

    init(time: Int32, row: Int32, column: Int32) {
        self.time = time
        self.row = row
        self.column = column
    }

    init(_ position: Int32) { self.init(time: position, row: position, column: position) }
}
