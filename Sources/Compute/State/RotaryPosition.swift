/// Position of a row for M-RoPE: three equal coordinates in text; time, row and column in an image.
package struct RotaryPosition: Sendable, Equatable {
    package var time: Int32
    package var row: Int32
    package var column: Int32

    package init(time: Int32, row: Int32, column: Int32) {
        self.time = time
        self.row = row
        self.column = column
    }

    package init(_ position: Int32) { self.init(time: position, row: position, column: position) }
}
