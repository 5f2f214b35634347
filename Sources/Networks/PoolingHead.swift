package import GGUF
package import Compute
import Foundation
import KernelFormats

/// Turns the states of an input's tokens into its vector, or into classifier scores.
package struct PoolingHead: Sendable {
    /// The pooling that the file declares, if any.
    package let declared: Pooling?
    /// Width of a vector after pooling and the dense layers.
    package let width: Int
    /// Number of the classifier's scores; 0: there is no classifier.
    package let scores: Int
    /// What the scores stand for; empty if the file does not say.
    package let labels: [String]

    /// The pooling before the classifier.
    private let classifierPooling: Pooling
    private let classifier: Classifier?
    /// Projections of the pooled vector, in order.
    private let dense: [Linear]

    /// What a family's classifiers have in common.
    struct Style: Sendable {
        /// The pooling before the classifier, if the file does not say.
        var pooling = Pooling.cls
        /// Activation of the dense layer; `nil` is tanh.
        var activation: Activation?
    }

    private struct Classifier: Sendable {
        var dense: Linear?
        var activation: Activation?
        var norm: Norm?
        var output: Linear?
        /// Whether the scores become probabilities.
        var hasSoftmax = false
    }

    /// - Parameter isCausal: Whether the model is causal, so that only the last token attends to the whole input.
    package init(_ file: GGUFFile, isCausal: Bool) throws(ModelFileError) {
        let file = ModelReader(file)
        let architecture = try file.metadata.string("general.architecture")
        let hyper = Hyperparameters(file: file, architecture: architecture)
        let width = try hyper.count("embedding_length")
        declared = try Self.pooling(hyper, "pooling_type")
        let reads = try Self.pooling(hyper, "classifier.pooling_type")
        let style = EncoderFamily.architectures[architecture]?.classifier ?? Style()
        classifierPooling = reads ?? (isCausal ? .last : style.pooling)
        guard [.mean, .cls, .last].contains(classifierPooling) else {
            throw hyper.invalid("classifier.pooling_type", "1 (mean), 2 (cls) or 3 (last)", found: classifierPooling)
        }
        dense = try Self.denseLayers(hyper, from: width)
        self.width = dense.last?.weights.rows ?? width

        labels = try file.metadata.stringsIfPresent("\(architecture).classifier.output_labels") ?? []
        let first = try Self.rows(file, "cls.weight", columns: width)
        let last = try Self.rows(file, "cls.output.weight", columns: first ?? width)
        scores = last ?? first ?? 0
        guard scores > 0 else {
            classifier = nil
            guard declared != .rank else {
                throw ModelFileError(
                    .missingTensor,
                    "'\(architecture).pooling_type' is 4 (rank), but neither cls.weight nor cls.output.weight is there.",
                    path: file.path)
            }
            return
        }
        // Files without labels do not declare the number of outputs.
        if !labels.isEmpty, labels.count != scores {
            throw ModelFileError(
                .badTensor,
                "The classifier has \(scores) outputs for \(labels.count) labels in "
                    + "'\(architecture).classifier.output_labels'.", path: file.path)
        }
        var classifier = Classifier()
        let inner = first ?? width
        if first != nil { classifier.dense = try file.linear("cls", from: width, to: inner) }
        classifier.activation = style.activation
        if let weight = try file.vectorIfPresent("cls.norm.weight", inner) {
            classifier.norm = Norm(
                .layer, weight: weight, bias: try file.vectorIfPresent("cls.norm.bias", inner),
                epsilon: Float(try hyper.double("attention.layer_norm_epsilon") ?? 1e-5))
        }
        if last != nil { classifier.output = try file.linear("cls.output", from: inner, to: scores) }
        classifier.hasSoftmax = Family.rerankersOfTwoScores.contains(architecture) && scores > 1
        self.classifier = classifier
    }

    private static func pooling(_ hyper: Hyperparameters, _ key: String) throws(ModelFileError) -> Pooling? {
        // −1 is llama.cpp's "not specified".
        guard let number = try hyper.int(key), number != -1, number != Int(UInt32.max) else { return nil }
        let known: [Pooling] = [.none, .mean, .cls, .last, .rank]
        guard known.indices.contains(number) else {
            throw hyper.invalid(key, "0 (none), 1 (mean), 2 (cls), 3 (last) or 4 (rank)", found: number)
        }
        return known[number]
    }

    private static func rows(_ file: ModelReader, _ name: String, columns: Int) throws(ModelFileError) -> Int? {
        guard let tensor = file.tensorIfPresent(name) else { return nil }
        guard tensor.shape[0] == columns, tensor.shape.count <= 2 else {
            throw ModelFileError(
                .badTensor, "Tensor '\(name)' must have the shape [\(columns), any], but has \(tensor.shape).",
                path: tensor.file.path)
        }
        return tensor.count / columns
    }

    /// `dense_2` and `dense_3`: the dense layers that sentence-transformers applies after pooling.
    private static func denseLayers(_ hyper: Hyperparameters, from width: Int) throws(ModelFileError) -> [Linear] {
        var layers: [Linear] = []
        var inputs = width
        for name in ["dense_2", "dense_3"] where hyper.file.tensorIfPresent(name + ".weight") != nil {
            let outputs = try rows(hyper.file, name + ".weight", columns: inputs) ?? inputs
            for (key, found) in [("feat_in", inputs), ("feat_out", outputs)] {
                guard let declared = try hyper.countIfPresent("\(name)_\(key)"), declared != found else { continue }
                throw hyper.invalid("\(name)_\(key)", "\(found), the size of its tensor", found: declared)
            }
            layers.append(try hyper.file.linear(name, from: inputs, to: outputs))
            inputs = outputs
        }
        return layers
    }

    /// Whether the scores are probabilities that sum to 1.
    package var hasSoftmax: Bool { classifier?.hasSoftmax ?? false }

    // MARK: From states to vectors

    /// The pooling of states for this kind of result.
    package func statePooling(_ pooling: Pooling) -> Pooling { pooling == .rank ? classifierPooling : pooling }

    /// Applies the classifier or the dense layers to pooled states.
    ///
    /// - Parameter pooled: `[inputs, embedding length]`; overwritten.
    /// - Returns: `[inputs][scores]` for `rank`, else `[inputs][width]`.
    package func outputs(_ pooled: Matrix, _ pooling: Pooling, on compute: Compute) -> [[Float]] {
        var values = pooled
        var buffers: [AlignedBuffer] = []
        func apply(_ layer: Linear) {
            let buffer = AlignedBuffer(floats: values.rows * layer.weights.rows)
            let next = buffer.matrix(rows: values.rows, columns: layer.weights.rows)
            compute.multiply(values, by: layer, into: next)
            buffers.append(buffer)
            values = next
        }
        if pooling == .rank, let classifier {
            if let dense = classifier.dense {
                apply(dense)
                if let activation = classifier.activation {
                    compute.activate(values, activation)
                } else {
                    compute.apply(.tanh, to: values)
                }
            }
            if let norm = classifier.norm { compute.normalize(values, norm, into: values) }
            if let output = classifier.output { apply(output) }
            if classifier.hasSoftmax { compute.softmax(values) }
        } else {
            for layer in dense { apply(layer) }
        }
        return withExtendedLifetime(buffers) { values.values }
    }
}
