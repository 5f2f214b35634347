@testable import GGUF
import KernelFormats

/// Reads everything that opening a file promises to be readable; how many elements and tensors that was.
func readEverything(in file: GGUFFile) -> Int {
    var elements = 0
    for key in file.metadata.keys {
        guard let value = file.metadata[key] else { continue }
        _ = (value.int, value.double, value.bool, value.string, value.summary)
        elements += value.array?.decode { _ in true }?.count ?? 0
        _ = value.array?.decode { $0.array?.decode(\.stringBytes?.count) }
    }
    for tensor in file.tensors {
        elements += 1
        let expected = tensor.count / tensor.type.blockValues * tensor.type.blockBytes
        precondition(tensor.bytes.count == expected, "\(tensor.name) is not as long as its shape says")
        _ = (tensor.bytes.first, tensor.bytes.last, tensor.rowBytes)
    }
    _ = try? file.metadata.tokenizerDescription()
    _ = try? file.metadata.chatTemplates()
    return elements
}
