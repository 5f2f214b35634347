import Compute
import Foundation

/// Learned position vectors of patches, which are added to them.
struct PatchPositions: Sendable {
    package enum Kind: Sendable {
        /// A square table, for images of one size.
        case square
        /// A square table that is interpolated to the image's size.
        case resized(Interpolation)
        /// One vector per column and one per row.
        case columnsAndRows
    }

    enum Interpolation: Sendable {
        /// Bilinear with antialiasing when shrinking.
        case antialiased
        /// Bilinear with aligned corners.
        case cornersAligned
        /// Bicubic with a = −0.75.
        case bicubic
    }

    let kind: Kind
    /// Vectors as rows. For `square` and `resized`: the class vector if there is one, then the square row by row; for
    /// `columnsAndRows`: those of columns, then those of rows.
    private let table: [Float]
    /// Vectors per side of the square, or number of columns.
    let side: Int
    private let classVectors: Int

    init(_ kind: Kind, table: [Float], width: Int, hasClass: Bool) {
        self.kind = kind
        self.table = table
        classVectors = hasClass ? 1 : 0
        let vectors = table.count / width - classVectors
        if case .columnsAndRows = kind { side = vectors / 2 } else { side = Int(Double(max(0, vectors)).squareRoot()) }
    }

    /// Adds the class's position vector to a row, `[1, width]`.
    func addClass(to row: Matrix, on compute: Compute) {
        compute.addVectors(of: table, to: row) { _, add in add(0, 1) }
    }

    /// Adds position vectors to patches.
    ///
    /// - Parameter rows: `[grid.patchCount, width]`.
    func add(to rows: Matrix, _ grid: PatchGrid, on compute: Compute) {
        switch kind {
        case .columnsAndRows:
            compute.addVectors(of: table, to: rows) { row, add in
                // Patches beyond the table use its last vector.
                add(min(Int(grid.places[row].column), side - 1), 1)
                add(side + min(Int(grid.places[row].row), side - 1), 1)
            }
        case .square:
            compute.addVectors(of: table, to: rows) { row, add in
                let place = grid.places[row]
                add(classVectors + Int(place.row) * side + Int(place.column), 1)
            }
        case .resized(let interpolation):
            let columns = interpolation.taps(from: side, to: grid.patchColumns)
            let lines = interpolation.taps(from: side, to: grid.patchRows)
            compute.addVectors(of: table, to: rows) { row, add in
                let place = grid.places[row]
                for (line, y) in lines[Int(place.row)] {
                    for (column, x) in columns[Int(place.column)] { add(classVectors + line * side + column, x * y) }
                }
            }
        }
    }
}

extension PatchPositions.Interpolation {
    /// For each output along one side, the inputs to combine and their weights.
    func taps(from inputs: Int, to outputs: Int) -> [[(index: Int, weight: Float)]] {
        if inputs == outputs { return (0..<outputs).map { [($0, 1)] } }
        let scale = Float(outputs) / Float(inputs)
        return (0..<outputs).map { output in
            switch self {
            case .antialiased:
                let (center, reach) = ((Float(output) + 0.5) / scale, max(1, 1 / scale))
                let range = max(0, Int(center - reach + 0.5))..<min(inputs, Int(center + reach + 0.5))
                let raw = range.map { ($0, max(0, 1 - abs(Float($0) - center + 0.5) / reach)) }
                let sum = raw.reduce(0) { $0 + $1.1 }
                return raw.map { ($0.0, $0.1 / sum) }
            case .cornersAligned:
                let position =
                    outputs > 1 && inputs > 1
                    ? Float(output) * Float(inputs - 1) / Float(outputs - 1) : Float(output) / scale
                let below = min(max(0, Int(position.rounded(.down))), inputs - 1)
                let share = min(1, max(0, position - Float(below)))
                return [(below, 1 - share), (min(below + 1, inputs - 1), share)]
            case .bicubic:
                let position = (Float(output) + 0.5) / scale - 0.5
                let base = position.rounded(.down)
                let x = position - base
                func near(_ x: Float) -> Float { (1.25 * x - 2.25) * x * x + 1 }
                func far(_ x: Float) -> Float { ((-0.75 * x + 3.75) * x - 6) * x + 3 }
                let weights = [far(x + 1), near(x), near(1 - x), far(2 - x)]
                return weights.enumerated().map { (min(max(0, Int(base) - 1 + $0), inputs - 1), $1) }
            }
        }
    }
}
