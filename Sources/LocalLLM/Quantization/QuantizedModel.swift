import KernelFormats
import Platform

extension GGUFFile {
    /// The model quantized in memory. Each tensor is quantized when read, so only one is in memory in both formats.
    func quantized(_ mixture: Mixture, threads: Int?) throws(ModelFileError) -> GGUFFile {
        let plan = try QuantizationPlan(self, mixture, overrides: [], hasImportance: false)
        let workers = threads ?? ProcessorCount.usable()
        var result: [TensorView] = []
        for (tensor, type) in zip(tensors, plan.types) {
            guard tensor.type != type else {
                result.append(tensor)
                continue
            }
            let byteCount = tensor.count / type.blockValues * type.blockBytes
            // Embedding rows are also read if the matrix is repacked as the output matrix.
            let file = try MappedFile(
                path: tensor.file.path, byteCount: byteCount, isKept: tensor.name == "token_embd.weight"
            ) { tensor.quantize(to: type, workers: workers, into: $0) }
            result.append(
                TensorView(name: tensor.name, type: type, shape: tensor.shape, file: file, range: 0..<byteCount))
        }
        return replacingTensors(by: result)
    }
}

extension TensorView {
    /// Quantizes the rows. Rows with values that the format cannot represent become NaN, which loading rejects.
    fileprivate func quantize(to type: TensorType, workers: Int, into target: UnsafeMutableRawBufferPointer) {
        let pool = ThreadPool(count: workers)
        defer { pool.stop() }
        let slabs = TensorSlabs(self, type, nil, workers: pool.count)
        let rowBytes = shape[0] / type.blockValues * type.blockBytes
        for rows in slabs.ranges {
            let part = UnsafeMutableRawBufferPointer(
                rebasing: target[rows.lowerBound * rowBytes..<rows.upperBound * rowBytes])
            do {
                try slabs.quantize(rows, on: pool) { part.copyMemory(from: $0) }
            } catch {
                part.initializeMemory(as: UInt8.self, repeating: 0xff)
            }
        }
        file.giveBack(range)
    }
}
