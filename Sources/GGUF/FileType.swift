package import KernelFormats

/// The names of whole files' quantizations, by the number in `general.file_type` (llama.cpp's `llama_ftype`).
package enum FileType {
    package static let names: [Int: String] = [
        0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S",
        12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS",
        20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M",
        28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4_MOE",
    ]

    package static func number(named name: String) -> Int? { names.first { $0.value == name }?.key }
}

extension GGUFFile {
    /// The bytes of the tensors of each type, most first.
    package var bytesByType: [(type: TensorType, bytes: Int)] {
        Dictionary(tensors.map { ($0.type, $0.byteCount) }, uniquingKeysWith: +)
            .map { (type: $0.key, bytes: $0.value) }.sorted { ($1.bytes, $0.type.name) < ($0.bytes, $1.type.name) }
    }

    /// The name of the file's quantization: the one it declares, or else the type of most of its bytes. A file with
    /// quantized weights that declares floats, as some converters leave it, is called by its bytes.
    package var quantizationName: String {
        let most = bytesByType.first?.type
        guard let declared = metadata["general.file_type"]?.int.flatMap({ FileType.names[$0] }) else {
            return most?.name ?? ""
        }
        let isFloat = ["F32", "F16", "BF16"].contains(declared)
        return isFloat ? most?.name ?? declared : declared
    }
}
