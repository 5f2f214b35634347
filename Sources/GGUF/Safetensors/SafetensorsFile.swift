import JSON

/// A mapped safetensors file: a JSON header with names, types and ranges, followed by the data.
///
/// Checked as by the format's own library: ranges are contiguous, without gaps, up to the end of the file.
struct SafetensorsFile {
    /// Maximum header length in bytes, as in the format's own library.
    static let maximumHeader = 100_000_000
    /// Maximum number of tensors. The largest models have about a hundred thousand in all their files.
    static let maximumTensors = 1 << 17
    /// Maximum number of JSON values in the header, counted by commas and opening brackets. A tensor has seven or eight.
    private static let maximumValues = 16 * maximumTensors

    let file: MappedFile
    /// In the order of their data.
    let tensors: [SafetensorsTensor]
    /// Entries of `__metadata__`.
    let metadata: [String: String]

    init(path: String) throws(ModelFileError) { try self.init(MappedFile(path: path)) }

    init(_ file: MappedFile) throws(ModelFileError) {
        func failure(
            _ reason: ModelFileError.Reason, _ message: String, at offset: Int? = nil
        ) -> ModelFileError { ModelFileError(reason, message, path: file.path, byteOffset: offset) }
        var reader = GGUFReader(file)
        let length = try reader.read(UInt64.self, "the length of the header")
        guard length <= UInt64(Self.maximumHeader) else {
            throw failure(
                .malformed,
                "The header has \(length) bytes; at most \(Self.maximumHeader) are allowed. "
                    + "Is this a safetensors file?", at: 0)
        }
        let header = try reader.readBytes(Int(length), "The header")
        // Counted before the header is parsed: its values take many times its bytes in memory.
        var (objects, values) = (0, 0)
        for byte in header {
            switch byte {
            case UInt8(ascii: "{"): objects += 1
            case UInt8(ascii: "["), UInt8(ascii: ","): values += 1
            default: break
            }
        }
        guard objects <= Self.maximumTensors, values <= Self.maximumValues else {
            throw failure(
                .unsupported,
                "The header has \(objects) objects and \(values) values; at most \(Self.maximumTensors) and "
                    + "\(Self.maximumValues) are read.", at: 8)
        }
        let json: JSON
        do {
            json = try JSON(parsing: Array(header), .modelFiles)
        } catch {
            throw failure(.malformed, "The header is not JSON: \(error.message).", at: 8 + error.offset)
        }
        guard let members = json.object?.members else {
            throw failure(.malformed, "The header must be a JSON object, but is \(json.kind).", at: 8)
        }
        var tensors: [SafetensorsTensor] = []
        var metadata: [String: String] = [:]
        for (name, value) in members {
            if name == "__metadata__" {
                for (key, value) in value.object?.members ?? [] { metadata[key] = value.string }
            } else {
                tensors.append(try SafetensorsTensor(name, value, in: file, dataStart: reader.offset))
            }
        }
        tensors.sort { ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound) }
        var end = reader.offset
        for tensor in tensors {
            guard tensor.range.lowerBound == end else {
                throw failure(
                    .malformed,
                    "The data of tensor '\(tensor.name)' must begin at byte \(end - reader.offset) of the data, where the "
                        + "tensor before ends, but begins at \(tensor.range.lowerBound - reader.offset).", at: end)
            }
            end = tensor.range.upperBound
        }
        guard end == file.byteCount else {
            throw failure(
                .malformed, "The tensors end at byte \(end), but the file has \(file.byteCount) bytes.", at: end)
        }
        self.file = file
        self.tensors = tensors
        self.metadata = metadata
    }
}

/// A tensor in a mapped safetensors file. Retains the file.
struct SafetensorsTensor: Sendable {
    /// The supported element types.
    enum ElementType: String {
        case F64, F32, F16, BF16, F8_E4M3, F8_E5M2, F8_E8M0, I64, I32, I16, I8, U64, U32, U16, U8, BOOL

        var byteCount: Int {
            switch self {
            case .F64, .I64, .U64: 8
            case .F32, .I32, .U32: 4
            case .F16, .BF16, .I16, .U16: 2
            case .F8_E4M3, .F8_E5M2, .F8_E8M0, .I8, .U8, .BOOL: 1
            }
        }
    }

    let name: String
    let type: ElementType
    /// Row-major: the last dimension is the row length.
    let shape: [Int]
    let file: MappedFile
    /// Byte range in the file; its length matches shape and type.
    let range: Range<Int>

    var count: Int { shape.reduce(1, *) }

    fileprivate init(_ name: String, _ json: JSON, in file: MappedFile, dataStart: Int) throws(ModelFileError) {
        func failure(_ reason: ModelFileError.Reason, _ message: String) -> ModelFileError {
            ModelFileError(reason, "Tensor '\(name)': \(message).", path: file.path)
        }
        guard let typeName = json["dtype"]?.string else { throw failure(.malformed, "there is no 'dtype'") }
        guard let type = ElementType(rawValue: typeName) else {
            throw failure(.unsupported, "the dtype '\(typeName)' is not known")
        }
        guard let dimensions = json["shape"]?.array else { throw failure(.malformed, "there is no 'shape'") }
        var shape: [Int] = []
        var bytes = type.byteCount
        for dimension in dimensions {
            guard let size = dimension.int, size > 0, size <= 1 << 48 else {
                throw failure(.malformed, "the shape has a dimension outside 1 to 2^48")
            }
            let (product, overflow) = bytes.multipliedReportingOverflow(by: size)
            guard !overflow else { throw failure(.malformed, "the shape \(shape + [size]) is impossible") }
            shape.append(size)
            bytes = product
        }
        guard let offsets = json["data_offsets"]?.array, offsets.count == 2, let begin = offsets[0].int,
            let end = offsets[1].int, begin >= 0, end >= begin
        else { throw failure(.malformed, "'data_offsets' must be two ascending numbers of bytes") }
        guard end - begin == bytes else {
            throw failure(
                .malformed,
                "the shape \(shape) of \(typeName) needs \(bytes) bytes, but 'data_offsets' are \(end - begin) apart")
        }
        guard end <= file.byteCount - dataStart else {
            throw failure(
                .truncated,
                "the data ends at byte \(end) of the data, of which the file has \(file.byteCount - dataStart). "
                    + "Was the download cut off?")
        }
        self.name = name
        self.type = type
        self.shape = shape
        self.file = file
        range = dataStart + begin..<dataStart + end
    }
}
