import KernelFormats

extension LanguageModel.Info {
    init(_ file: GGUFFile, _ network: any Network, fallbackName: String) throws(ModelFileError) {
        var bytesOfType: [TensorType: Int] = [:]
        for tensor in file.tensors { bytesOfType[tensor.type, default: 0] += tensor.bytes.count }
        name = try file.metadata.stringIfPresent("general.name") ?? fallbackName
        architecture = try file.metadata.string("general.architecture")
        quantization = bytesOfType.max { $0.value < $1.value }?.key.name ?? ""
        parameterCount = file.tensors.reduce(0) { $0 + $1.shape.reduce(1, *) }
        fileBytes = file.byteCount
        vocabularySize = network.vocabularySize
        trainedContextSize = network.trainedContext
    }
}
