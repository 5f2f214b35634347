import KernelFormats

/// One GGUF file: a whole model, or a part of a split one.
package struct GGUFPart {
    /// The limits that the specification sets, in bytes.
    private static let maximumKeyLength = 65535
    private static let maximumTensorNameLength = 64
    private static let maximumDimensions = 4

    let file: MappedFile
    let metadata: GGUFMetadata
    let tensors: [TensorView]

    package init(_ file: MappedFile) throws(ModelFileError) {
        let header = try Header(file)
        var tensors: [TensorView] = []
        tensors.reserveCapacity(header.tensors.count)
        for tensor in header.tensors {
            tensors.append(try tensor.view(in: file, from: header.dataStart, alignment: header.alignment))
        }
        try Self.checkOverlap(tensors)

        self.file = file
        metadata = header.metadata
        self.tensors = tensors
    }

    /// The size of the whole file, computed from its beginning; only the tensor data may be missing.
    package static func expectedByteCount(_ beginning: MappedFile) throws(ModelFileError) -> Int {
        let header = try Header(beginning)
        return header.tensors.reduce(header.dataStart) { end, tensor in
            let (bytes, overflow) = Int(clamping: tensor.offset).addingReportingOverflow(tensor.bytes)
            let (sum, sumOverflow) = header.dataStart.addingReportingOverflow(bytes)
            return overflow || sumOverflow ? .max : max(end, sum)
        }
    }

    /// The part of the file before the tensor data.
    private struct Header {
        let metadata: GGUFMetadata
        let tensors: [TensorHeader]
        let alignment: Int
        let dataStart: Int

        init(_ file: MappedFile) throws(ModelFileError) {
            var reader = GGUFReader(file)
            try GGUFPart.readMagicAndVersion(&reader)
            // Minimum sizes. Tensor: lengths of name and shape, type, offset. Pair: length of the key, type, one byte.
            let tensorCount = try reader.readCount(ofAtLeast: 8 + 4 + 4 + 8, "The number of tensors")
            let pairCount = try reader.readCount(ofAtLeast: 8 + 4 + 1, "The number of metadata keys")

            var metadata = GGUFMetadata(path: file.path)
            for i in 0..<pairCount {
                let start = reader.offset
                let key = try reader.readName(
                    limit: maximumKeyLength, "the name of metadata key \(i + 1) of \(pairCount)")
                guard metadata.insert(try reader.readValue(of: key), for: key) else {
                    throw reader.failure(.malformed, "Duplicate metadata key '\(key)'.", at: start)
                }
            }
            var tensors: [TensorHeader] = []
            for i in 0..<tensorCount {
                tensors.append(try GGUFPart.readTensorHeader(&reader, "tensor \(i + 1) of \(tensorCount)"))
            }
            self.metadata = metadata
            self.tensors = tensors
            alignment = try GGUFPart.alignment(metadata)
            // No overflow: the offset is within a file, and the alignment at most 2^31.
            dataStart = (reader.offset + alignment - 1) & ~(alignment - 1)
        }
    }

    private static func readMagicAndVersion(_ reader: inout GGUFReader) throws(ModelFileError) {
        let magic = try reader.read(UInt32.self, "the first four bytes")
        guard magic == 0x4655_4747 else {  // "GGUF"
            if reader.file.bytes.starts(with: "version https://git-lfs".utf8) {
                throw reader.failure(
                    .badMagic, "This is not the model but a pointer to it in Git LFS. Download the file itself.", at: 0)
            }
            if isSafetensors(reader.file.bytes) {
                throw reader.failure(
                    .badMagic,
                    "This is a safetensors file, which contains only weights. Pass its folder, with 'config.json', "
                        + "instead of the file.", at: 0)
            }
            let found = withUnsafeBytes(of: magic.littleEndian) {
                $0.map { String($0, radix: 16) }.joined(separator: " ")
            }
            throw reader.failure(
                .badMagic, "This is not a GGUF file: it starts with the bytes \(found) instead of 'GGUF'.", at: 0)
        }
        let version = try reader.read(UInt32.self, "the version")
        guard (2...3).contains(version) else {
            throw reader.failure(
                .unsupported,
                (2...3).contains(version.byteSwapped)
                    ? "This is a big-endian GGUF file. Only little-endian ones can be read."
                    : "The file has GGUF version \(version). Versions 2 and 3 can be read.", at: 4)
        }
    }

    /// Whether a file looks like safetensors: the header's length in 8 bytes, then the header, a JSON object.
    private static func isSafetensors(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count > 8, bytes[8] == UInt8(ascii: "{") else { return false }
        let length = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        return (2...100_000_000).contains(length)
    }

    /// The architecture of a file that may be cut off anywhere.
    ///
    /// - Returns: `nil` if the key has not arrived yet, or is missing.
    /// - Throws: If it is not a GGUF file.
    package static func architecture(ofBeginning file: MappedFile) throws(ModelFileError) -> String? {
        var reader = GGUFReader(file)
        do {
            try readMagicAndVersion(&reader)
            _ = try reader.readCount(ofAtLeast: 8 + 4 + 4 + 8, "The number of tensors")
            let pairCount = try reader.readCount(ofAtLeast: 8 + 4 + 1, "The number of metadata keys")
            for index in 0..<pairCount {
                let key = try reader.readName(limit: maximumKeyLength, "the name of metadata key \(index + 1)")
                let value = try reader.readValue(of: key)
                if key == "general.architecture" { return value.string }
            }
        } catch {
            guard error.reason == .truncated else { throw error }
        }
        return nil
    }

    /// `general.alignment`: tensor offsets are multiples of it.
    private static func alignment(_ metadata: GGUFMetadata) throws(ModelFileError) -> Int {
        guard let alignment = try metadata.intIfPresent("general.alignment") else { return 32 }
        guard alignment >= 8, alignment <= 1 << 31, alignment & (alignment - 1) == 0 else {
            throw ModelFileError(
                .badMetadata,
                "The metadata key 'general.alignment' must be a power of two from 8 to 2^31, but is \(alignment).",
                path: metadata.path)
        }
        return alignment
    }

    /// Throws if tensors overlap, which means that types or shapes are wrong.
    private static func checkOverlap(_ tensors: [TensorView]) throws(ModelFileError) {
        let sorted = tensors.sorted { $0.range.lowerBound < $1.range.lowerBound }
        for (tensor, next) in zip(sorted, sorted.dropFirst()) where tensor.range.upperBound > next.range.lowerBound {
            throw ModelFileError(
                .malformed,
                "Tensors '\(tensor.name)' (\(tensor.type.name), shape \(tensor.shape)) and '\(next.name)' overlap.",
                path: tensor.file.path, byteOffset: next.range.lowerBound)
        }
    }

    private static func readTensorHeader(
        _ reader: inout GGUFReader, _ what: String
    ) throws(ModelFileError) -> TensorHeader {
        let start = reader.offset
        let name = try reader.readName(limit: maximumTensorNameLength, "the name of \(what)")
        let dimensions = try reader.read(UInt32.self, "the shape of tensor '\(name)'")
        guard dimensions <= maximumDimensions else {
            throw reader.failure(
                .malformed, "Tensor '\(name)' has \(dimensions) dimensions; at most \(maximumDimensions) are allowed.",
                at: start)
        }
        var shape: [Int] = []
        var count = 1
        for _ in 0..<dimensions {
            let dimension = try reader.read(UInt64.self, "the shape of tensor '\(name)'")
            let (product, overflow) = count.multipliedReportingOverflow(by: Int(clamping: dimension))
            guard dimension > 0, dimension <= Int.max, !overflow else {
                throw reader.failure(
                    .malformed, "Tensor '\(name)' has the impossible dimensions \(shape + [Int(clamping: dimension)]).",
                    at: start)
            }
            shape.append(Int(dimension))
            count = product
        }
        if shape.isEmpty { shape = [1] }  // a scalar
        let number = try reader.read(UInt32.self, "the type of tensor '\(name)'")
        guard let type = TensorType(rawValue: number) else {
            throw reader.failure(.unsupported, "Tensor '\(name)' has the unknown type \(number).", at: start)
        }
        guard shape[0] % type.blockValues == 0, let bytes = type.bytes(forValues: count) else {
            throw reader.failure(
                .malformed,
                "Tensor '\(name)': a row of \(shape[0]) values is not whole blocks of \(type.blockValues), as "
                    + "\(type.name) needs.", at: start)
        }
        let offset = try reader.read(UInt64.self, "the offset of tensor '\(name)'")
        return TensorHeader(name: name, type: type, shape: shape, bytes: bytes, offset: offset, headerOffset: start)
    }
}

/// A tensor's entry in the header, before its range is checked.
private struct TensorHeader {
    let name: String
    let type: TensorType
    let shape: [Int]
    let bytes: Int
    /// Offset from the start of the data.
    let offset: UInt64
    let headerOffset: Int

    func view(in file: MappedFile, from dataStart: Int, alignment: Int) throws(ModelFileError) -> TensorView {
        guard offset % UInt64(alignment) == 0 else {
            throw ModelFileError(
                .malformed, "Tensor '\(name)' is at \(offset), which is not a multiple of the alignment \(alignment).",
                path: file.path, byteOffset: headerOffset)
        }
        let (start, startOverflow) = dataStart.addingReportingOverflow(Int(clamping: offset))
        let (end, endOverflow) = start.addingReportingOverflow(bytes)
        guard !startOverflow, !endOverflow, end <= file.bytes.count else {
            throw ModelFileError(
                .truncated,
                "The data of tensor '\(name)' (\(bytes) bytes at \(offset) of the data, which starts at byte "
                    + "\(dataStart)) ends beyond the file's \(file.bytes.count) bytes. Was the download cut off?",
                path: file.path, byteOffset: headerOffset)
        }
        return TensorView(name: name, type: type, shape: shape, file: file, range: start..<end)
    }
}
