import JSON

import Dispatch
import Foundation
import KernelFormats
import KernelsPortable

/// How to compute a GGUF tensor from tensors of a folder.
struct TensorRecipe: Sendable {
    /// Maps values of the result to values of the sources.
    enum Order: Sendable {
        /// The sources, concatenated; all of the same shape.
        case asStored
        /// Rows of `length` values; the closure maps a row of the result to a source and its row.
        case rows(length: Int, @Sendable (Int) -> (source: Int, row: Int))
        /// There is one source; the closure maps an index of the result to an index of the source.
        case values(@Sendable (Int) -> Int)
    }

    var name: String
    /// A float type, or `MXFP4`.
    var type: TensorType
    /// In GGUF's order: row length first.
    var shape: [Int]
    /// All of the same type.
    var sources: [SafetensorsTensor]
    var order = Order.asStored
    /// Applied to each value.
    var change: (@Sendable (Float) -> Float)?
    /// Values to use instead of sources.
    var constants: [Float]?
    /// Computes the bytes directly from the sources, instead of all the above.
    var write: (@Sendable ([SafetensorsTensor], UnsafeMutableRawBufferPointer) -> Void)?

    private var count: Int { shape.reduce(1, *) }

    /// The tensor: a view of the folder's file if the bytes are the same, else computed on access.
    func view(path: String) throws(ModelFileError) -> TensorView {
        if case .asStored = order, sources.count == 1, change == nil, write == nil, constants == nil,
            sources[0].type.tensorType == type, sources[0].range.lowerBound % 8 == 0
        {
            return TensorView(name: name, type: type, shape: shape, file: sources[0].file, range: sources[0].range)
        }
        let byteCount = count / type.blockValues * type.blockBytes
        let file = try MappedFile(path: sources.first?.file.path ?? path, byteCount: byteCount) { [self] in fill($0) }
        return TensorView(name: name, type: type, shape: shape, file: file, range: 0..<byteCount)
    }

    private func fill(_ target: UnsafeMutableRawBufferPointer) {
        if let write { return write(sources, target) }
        if let constants {
            let values = target.bindMemory(to: Float.self)
            for (index, value) in constants.enumerated() { values[index] = value }
            return
        }
        guard let sourceType = sources[0].type.tensorType else { return }
        // Pieces of about a megabyte, on all cores.
        let (length, rows) = pieces
        let rowsAtOnce = max(1, (1 << 18) / length)
        let base = UnsafeMutableRawPointer(target.baseAddress!)
        let target = SendablePointer(base: base)
        DispatchQueue.concurrentPerform(iterations: (rows + rowsAtOnce - 1) / rowsAtOnce) { piece in
            withUnsafeTemporaryAllocation(of: Float.self, capacity: length) { buffer in
                for row in piece * rowsAtOnce..<min(rows, (piece + 1) * rowsAtOnce) {
                    fill(row, length, sourceType, target.base + row * length * type.blockBytes, buffer.baseAddress!)
                }
            }
        }
        for source in sources { source.file.giveBack(source.range) }
    }

    /// Length and number of the contiguous runs to move.
    private var pieces: (length: Int, rows: Int) {
        switch order {
        case .asStored: (shape[0], count / shape[0])
        case .rows(let length, _): (length, count / length)
        case .values: (shape[0], count / shape[0])
        }
    }

    private func fill(
        _ row: Int, _ length: Int, _ sourceType: TensorType, _ target: UnsafeMutableRawPointer,
        _ buffer: UnsafeMutablePointer<Float>
    ) {
        let valueBytes = sourceType.blockBytes
        let place: (source: Int, row: Int)
        switch order {
        case .values(let value):
            let source = sources[0].file.bytes.baseAddress! + sources[0].range.lowerBound
            for index in 0..<length {
                dequantize(
                    sourceType, source + value(row * length + index) * valueBytes, into: buffer + index, count: 1)
            }
            return write(buffer, length, to: target)
        case .asStored:
            let rows = sources[0].count / length
            place = (row / rows, row % rows)
        case .rows(_, let origin): place = origin(row)
        }
        let tensor = sources[place.source]
        let source = tensor.file.bytes.baseAddress! + tensor.range.lowerBound + place.row * length * valueBytes
        if sourceType == type, change == nil {
            target.copyMemory(from: source, byteCount: length * valueBytes)
        } else {
            dequantize(sourceType, source, into: buffer, count: length)
            write(buffer, length, to: target)
        }
    }

    private func write(_ values: UnsafeMutablePointer<Float>, _ count: Int, to target: UnsafeMutableRawPointer) {
        if let change { for index in 0..<count { values[index] = change(values[index]) } }
        KernelsPortable.quantize(type, values, importance: nil, into: target, count: count)
    }

    /// `@unchecked Sendable`: each thread writes a separate part of the memory.
    private struct SendablePointer: @unchecked Sendable { let base: UnsafeMutableRawPointer }
}

extension SafetensorsTensor.ElementType {
    /// The corresponding GGUF type; `nil` for types that weights do not have.
    var tensorType: TensorType? {
        switch self {
        case .F64: .F64
        case .F32: .F32
        case .F16: .F16
        case .BF16: .BF16
        default: nil
        }
    }
}
