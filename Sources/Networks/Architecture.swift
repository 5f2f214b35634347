/// A model architecture that the engine can run.
public struct Architecture: Sendable {
    /// The value of `general.architecture` in model files.
    public let name: String
    /// The kinds of models with this architecture.
    public let kinds: [Kind]
    public let check: Check

    /// A kind of model.
    public enum Kind: String, Sendable {
        case dense
        case mixture = "mixture of experts"
        /// Some or all layers keep a recurrent state of fixed size.
        case recurrent = "recurrent or hybrid"
        case encoder
        case encoderDecoder = "encoder-decoder"
    }

    /// What the test suite compares the architecture's results with. Tests/Reference has the data.
    public enum Check: String, Sendable {
        /// Results of transformers' implementation.
        case transformers
        /// Results of a plain implementation after the published code or paper.
        case paper
        /// Nothing. Such models load only with `LocalModel.Configuration.allowsUnchecked`.
        case none = "unchecked"
    }

    /// All supported architectures, sorted by name.
    public static let all: [Architecture] = {
        var all: [Architecture] = []
        for (name, family) in Registry.families {
            all.append(Architecture(name: name, kinds: kinds(name, family), check: check(name)))
        }
        for name in EncoderFamily.architectures.keys {
            all.append(Architecture(name: name, kinds: [.encoder], check: check(name)))
        }
        all.append(Architecture(name: "t5", kinds: [.encoderDecoder], check: check("t5")))
        return all.sorted { $0.name < $1.name }
    }()

    private static func kinds(_ name: String, _ family: Family) -> [Kind] {
        var kinds: [Kind] = family.experts == nil ? [.dense] : [.mixture]
        if family.experts?.isOptional == true { kinds.insert(.dense, at: 0) }
        if Family.recurrents[name] != nil { kinds.append(.recurrent) }
        return kinds
    }

    private static func check(_ name: String) -> Check {
        Registry.unchecked.contains(name) ? .none : Registry.fromPapers.contains(name) ? .paper : .transformers
    }
}
