import Platform

/// A row-major float matrix. Does not own its memory, which is usually an `AlignedBuffer`.
package struct Matrix {
    package let base: UnsafeMutablePointer<Float>
    package let rows: Int
    package let columns: Int
    /// Floats between the starts of consecutive rows.
    package let stride: Int

    @inlinable
    package init(_ base: UnsafeMutablePointer<Float>, rows: Int, columns: Int, stride: Int? = nil) {
        self.base = base
        self.rows = rows
        self.columns = columns
        self.stride = stride ?? columns
    }

    /// The row's values.
    @inlinable
    package subscript(row: Int) -> UnsafeMutablePointer<Float> {
        assert((0..<rows).contains(row), "row \(row) of a matrix with \(rows) rows")
        return base + row * stride
    }

    /// A view of `count` rows from `first` on.
    @inlinable
    package subscript(rows first: Int, count count: Int) -> Matrix {
        assert(first >= 0 && count >= 0 && first + count <= rows, "rows \(first) and \(count) more of \(rows)")
        return Matrix(base + first * stride, rows: count, columns: columns, stride: stride)
    }

    /// Moves some rows to the front, over the others.
    ///
    /// - Parameter rows: Ascending.
    /// - Returns: A view of the moved rows.
    package func keep(_ rows: [Int]) -> Matrix {
        for (index, row) in rows.enumerated() { self[index].update(from: self[row], count: columns) }
        return self[rows: 0, count: rows.count]
    }

    /// A view of `count` columns from `first` on.
    @inlinable
    package subscript(columns first: Int, count count: Int) -> Matrix {
        assert(first >= 0 && count >= 0 && first + count <= columns, "columns \(first) and \(count) more of \(columns)")
        return Matrix(base + first, rows: rows, columns: count, stride: stride)
    }

    /// The same values in rows of another length. Rows must be adjacent.
    package func reshaped(rows: Int, columns: Int) -> Matrix {
        precondition(stride == self.columns && rows * columns <= self.rows * self.columns, "another number of values")
        return Matrix(base, rows: rows, columns: columns)
    }

    /// Whether both begin in the same place.
    package func startsWhere(_ other: Matrix) -> Bool { base == other.base }

    /// A copy of the values, row by row.
    package var values: [[Float]] { (0..<rows).map { Array(UnsafeBufferPointer(start: self[$0], count: columns)) } }
}

/// Memory for kernels, 64-byte aligned so that a full-width load stays within a cache line.
///
/// `@unchecked Sendable`: passing one to another thread passes the right to write it. The engine does so only inside
/// `ThreadPool.forEach`, where each worker writes a separate part.
package final class AlignedBuffer: @unchecked Sendable {
    package let base: UnsafeMutableRawPointer
    package let byteCount: Int

    /// Zeroed memory, rounded up to a multiple of 64 bytes.
    package init(byteCount: Int) {
        self.byteCount = Self.byteCount(byteCount)
        base = UnsafeMutableRawPointer.allocate(byteCount: self.byteCount, alignment: 64)
        memset(base, 0, self.byteCount)
    }

    /// `byteCount` of a buffer for so many bytes.
    static func byteCount(_ bytes: Int) -> Int { max(64, (bytes + 63) & ~63) }

    init(copying other: AlignedBuffer) {
        byteCount = other.byteCount
        base = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 64)
        memcpy(base, other.base, byteCount)
    }

    package convenience init(floats: Int) { self.init(byteCount: floats * MemoryLayout<Float>.stride) }

    deinit { base.deallocate() }

    package var floats: UnsafeMutablePointer<Float> { base.assumingMemoryBound(to: Float.self) }

    package func matrix(rows: Int, columns: Int) -> Matrix {
        precondition(rows * columns * MemoryLayout<Float>.stride <= byteCount, "matrix larger than its buffer")
        return Matrix(floats, rows: rows, columns: columns)
    }
}
