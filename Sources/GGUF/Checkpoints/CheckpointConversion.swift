import JSON

import Foundation
import KernelFormats

/// Converts a folder to a GGUF file: collects its keys, and a recipe for each tensor.
package struct CheckpointConversion {
    let folder: SafetensorsFolder
    let family: CheckpointFamily
    let config: CheckpointConfig
    let rotary: CheckpointRotary
    let generation: CheckpointGeneration
    var draft = GGUFDraft()
    private(set) var recipes: [String: TensorRecipe] = [:]
    /// The experts' matrices, by name of their stacked tensor and by expert.
    private var stacks: [String: [Int: SafetensorsTensor]] = [:]

    init(_ folder: SafetensorsFolder, _ family: CheckpointFamily) throws(ModelFileError) {
        self.folder = folder
        self.family = family
        config = CheckpointConfig(folder, defaults: family.defaults)
        rotary = CheckpointRotary(config)
        generation = try CheckpointGeneration(folder)
        try refuseUnservedConfig()
    }

    var layers: Int {
        get throws(ModelFileError) {
            let count = try config.positive("num_hidden_layers", "n_layer", "num_layers")
            guard count <= 10_000 else { throw config.wrong("num_hidden_layers", "at most 10000") }
            return count
        }
    }
    var width: Int { get throws(ModelFileError) { try config.positive("hidden_size", "n_embd") } }
    var heads: Int { get throws(ModelFileError) { try config.positive("num_attention_heads", "n_head") } }
    var kvHeads: Int {
        get throws(ModelFileError) {
            if let heads = try config.intIfPresent("num_key_value_heads", "n_head_kv") {
                guard (1...1 << 24).contains(heads) else { throw config.wrong("num_key_value_heads", "from 1 to 2^24") }
                return heads
            }
            return try heads
        }
    }
    var headWidth: Int {
        get throws(ModelFileError) {
            guard let width = try config.intIfPresent("head_dim") else { return try width / heads }
            guard (1...1 << 20).contains(width) else { throw config.wrong("head_dim", "from 1 to 2^20") }
            return width
        }
    }

    /// Sets a key with the architecture's prefix.
    mutating func set(_ key: String, _ value: GGUFDraft.Value?) {
        draft["\(family.architecture).\(key)"] = value
    }

    // MARK: Tensors

    mutating func add(_ recipe: TensorRecipe) throws(ModelFileError) {
        guard recipes.updateValue(recipe, forKey: recipe.name) == nil else {
            throw ModelFileError(
                .malformed, "More than one tensor of the folder would become '\(recipe.name)'.", path: folder.path)
        }
    }

    /// Adds a tensor, optionally reordered.
    ///
    /// - Parameter shape: In GGUF's order; default: the tensor's.
    mutating func add(
        _ tensor: SafetensorsTensor, as name: String, shape: [Int]? = nil, order: TensorRecipe.Order = .asStored,
        change: (@Sendable (Float) -> Float)? = nil
    ) throws(ModelFileError) {
        let shape = shape ?? (tensor.shape.isEmpty ? [1] : tensor.shape.reversed())
        guard shape.count <= 4 else { throw wrong(tensor, "at most 4 dimensions") }
        try add(
            TensorRecipe(
                name: name, type: try type(of: name, shape, tensor), shape: shape, sources: [tensor], order: order,
                change: change))
    }

    /// Adds a vector of computed values.
    mutating func add(_ values: [Float], as name: String) throws(ModelFileError) {
        try add(TensorRecipe(name: name, type: .F32, shape: [values.count], sources: [], constants: values))
    }

    /// Adds a tensor that is placed by its name alone.
    mutating func add(_ part: CheckpointTensor) throws(ModelFileError) {
        let tensor = part.tensor
        guard let base = (part.layer == nil ? family.others : family.layer)[part.module] else {
            throw ModelFileError(
                .unsupported,
                "Unknown tensor '\(tensor.name)' of shape \(tensor.shape) in a folder of '\(family.architecture)'.",
                path: tensor.file.path)
        }
        let suffix = part.suffix.isEmpty ? "weight" : part.suffix
        let name = (part.layer.map { "blk.\($0)." } ?? "") + base + "." + suffix
        if let expert = part.expert {
            guard stacks[name, default: [:]].updateValue(tensor, forKey: expert) == nil else {
                throw ModelFileError(
                    .malformed, "Duplicate tensor '\(tensor.name)'.", path: tensor.file.path)
            }
            return
        }
        if family.permutesHeads, base == "attn_q" || base == "attn_k" {
            let heads = base == "attn_q" ? try heads : try kvHeads
            return try add(tensor, as: name, order: try pairs(tensor, heads: heads))
        }
        let shift = part.module.hasSuffix("norm") ? family.normShift : 0
        if shift == 0 { return try add(tensor, as: name) }
        try add(tensor, as: name, change: { $0 + shift })
    }

    /// Order that interleaves the two halves of each head: 0, n/2, 1, n/2 + 1, …
    private func pairs(_ tensor: SafetensorsTensor, heads: Int) throws(ModelFileError) -> TensorRecipe.Order {
        guard let rows = tensor.shape.first, rows % (2 * heads) == 0 else {
            throw wrong(tensor, "rows that \(heads) heads of even width can share")
        }
        return Self.pairs(rows: rows, length: tensor.count / rows, heads: heads)
    }

    static func pairs(rows: Int, length: Int, heads: Int) -> TensorRecipe.Order {
        let headWidth = rows / heads
        return .rows(length: length) { row in
            let place = row % headWidth
            return (0, row - place + place % 2 * (headWidth / 2) + place / 2)
        }
    }

    /// Adds rows `rows` of each matrix of a three-dimensional tensor.
    mutating func add(
        rows: Range<Int>, ofEach tensor: SafetensorsTensor, as name: String
    ) throws(ModelFileError) {
        guard tensor.shape.count == 3, rows.upperBound <= tensor.shape[1] else {
            throw wrong(tensor, "three dimensions, with \(rows.upperBound) rows in each matrix")
        }
        let (height, count, first) = (tensor.shape[1], rows.count, rows.lowerBound)
        try add(
            tensor, as: name, shape: [tensor.shape[2], count, tensor.shape[0]],
            order: .rows(length: tensor.shape[2]) { (0, $0 / count * height + first + $0 % count) })
    }

    /// Stacks the experts' matrices to three-dimensional tensors.
    mutating func stackExperts() throws(ModelFileError) {
        for (name, experts) in stacks {
            let count = try config.positive("num_local_experts", "num_experts", "n_routed_experts")
            guard let first = experts[0], experts.count == count, (0..<count).allSatisfy({ experts[$0] != nil }) else {
                throw ModelFileError(
                    .missingTensor, "Tensor '\(name)' needs \(count) experts, but the folder has \(experts.count).",
                    path: folder.path)
            }
            let sources = (0..<count).compactMap { experts[$0] }
            if let other = sources.first(where: { $0.shape != first.shape || $0.type != first.type }) {
                throw wrong(other, "the shape \(first.shape) and type \(first.type.rawValue) of '\(first.name)'")
            }
            let shape = first.shape.reversed() + [count]
            try add(TensorRecipe(name: name, type: try type(of: name, shape, first), shape: shape, sources: sources))
        }
        stacks = [:]
    }

    /// The type that llama.cpp's converter would choose: tensors that are not weight matrices are F32.
    private func type(
        of name: String, _ shape: [Int], _ tensor: SafetensorsTensor
    ) throws(ModelFileError) -> TensorType {
        guard let type = tensor.type.tensorType else {
            throw ModelFileError(
                .unsupported,
                "Tensor '\(tensor.name)' has the dtype \(tensor.type.rawValue). Supported: F32, F16, BF16.",
                path: tensor.file.path)
        }
        let exact = ["_norm.weight", "ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight", "ssm_conv1d.weight"]
        if shape.count == 1 || type == .F64 || !name.hasSuffix(".weight")
            || exact.contains(where: { name.hasSuffix($0) })
            || ["position_embd.weight", "token_types.weight"].contains(name)
        {
            return .F32
        }
        return type
    }

    func wrong(_ tensor: SafetensorsTensor, _ expected: String) -> ModelFileError {
        ModelFileError(
            .badTensor, "Tensor '\(tensor.name)' must have \(expected), but has the shape \(tensor.shape).",
            path: tensor.file.path)
    }
}

/// The GGUF file that a folder converts to.
struct Checkpoint {
    let folder: SafetensorsFolder

    init(_ folder: SafetensorsFolder) { self.folder = folder }

    func file() throws(ModelFileError) -> GGUFFile {
        let family = try CheckpointFamily.of(folder)
        var conversion = try CheckpointConversion(folder, family)
        conversion.writeGeneral()
        try conversion.writeCommon()
        try family.write(&conversion)
        for name in folder.tensors.keys.sorted() {
            guard let tensor = folder.tensors[name], let part = CheckpointTensor(tensor) else { continue }
            // Further layers are for multi-token prediction.
            if let layer = part.layer, try layer >= conversion.layers { continue }
            if try !family.place(&conversion, part) { try conversion.add(part) }
        }
        try conversion.stackExperts()
        try conversion.writeVocabulary()
        try conversion.generation.write(to: &conversion.draft)
        var tensors: [TensorView] = []
        for recipe in conversion.recipes.values.sorted(by: { Self.order($0.name, $1.name) }) {
            tensors.append(try recipe.view(path: folder.path))
        }
        conversion.draft["general.file_type"] = .uint32(fileType(tensors))
        let header = try GGUFPart(MappedFile(path: folder.path, contents: conversion.draft.header([])))
        return GGUFFile(
            path: folder.path, metadata: header.metadata, tensors: tensors,
            ranges: folder.files.compactMap(\.range))
    }

    /// llama.cpp's file type, from the type of the first matrix.
    private func fileType(_ tensors: [TensorView]) -> Int {
        switch tensors.first(where: { $0.shape.count > 1 && $0.type != .F32 })?.type {
        case .F16: 1
        case .BF16: 32
        case .MXFP4: 38
        default: 0
        }
    }

    /// Order of tensors: those outside of layers first, then by layer and name.
    private static func order(_ a: String, _ b: String) -> Bool { (layer(a), a) < (layer(b), b) }

    private static func layer(_ name: String) -> Int {
        let parts = name.split(separator: ".", maxSplits: 2)
        return parts.count == 3 && parts[0] == "blk" ? Int(parts[1]) ?? -1 : -1
    }
}
