import Foundation

/// A step of a `tokenizer.json`'s normalization.
///
/// In GGUF files of this package, steps are a list of strings: each step's name, followed by its arguments.
public enum NormalizationStep: Sendable, Equatable {
    case nfc, nfd, nfkc, nfkd
    case lowercase
    /// Removes combining marks, without decomposing characters.
    case stripAccents
    /// Removes combining marks that take no space, as BERT does.
    case stripNonspacing
    case stripLeft, stripRight
    /// Removes control characters, and turns white space to spaces, as BERT does.
    case clean
    /// Puts spaces around Chinese characters.
    case isolateIdeographs
    /// SentencePiece's rules for control characters and spaces.
    case nmt
    /// The map of `TokenizerDescription.precompiledCharsmap`.
    case precompiled
    case replace(String, with: String)
    /// Replaces each run of at least two spaces.
    case replaceSpaces(with: String)
    /// Prepends to a text that is not empty.
    case prepend(String)

    private static let simple: [String: NormalizationStep] = [
        "NFC": .nfc, "NFD": .nfd, "NFKC": .nfkc, "NFKD": .nfkd, "Lowercase": .lowercase, "StripAccents": .stripAccents,
        "StripNonspacing": .stripNonspacing, "StripLeft": .stripLeft, "StripRight": .stripRight, "Clean": .clean,
        "IsolateIdeographs": .isolateIdeographs, "Nmt": .nmt, "Precompiled": .precompiled,
    ]

    /// The list of strings for these steps.
    public static func names(of steps: [NormalizationStep]) -> [String] {
        steps.flatMap { step in
            switch step {
            case .replace(let text, let other): ["Replace", text, other]
            case .replaceSpaces(let other): ["ReplaceSpaces", other]
            case .prepend(let text): ["Prepend", text]
            default: [simple.first { $0.value == step }?.key ?? ""]
            }
        }
    }

    /// - Throws: `TokenizerError` for an unknown name or a missing argument.
    public static func steps(named names: [String]) throws(TokenizerError) -> [NormalizationStep] {
        var steps: [NormalizationStep] = []
        var rest = names[...]
        while let name = rest.popFirst() {
            func argument() throws(TokenizerError) -> String {
                guard let text = rest.popFirst() else {
                    throw .invalid(field: Normalization.field, reason: "'\(name)' needs an argument, found the end.")
                }
                return text
            }
            switch name {
            case "Replace": steps.append(.replace(try argument(), with: try argument()))
            case "ReplaceSpaces": steps.append(.replaceSpaces(with: try argument()))
            case "Prepend": steps.append(.prepend(try argument()))
            default:
                guard let step = simple[name] else {
                    throw .invalid(field: Normalization.field, reason: "the step '\(name)' is unknown.")
                }
                steps.append(step)
            }
        }
        return steps
    }

    /// Maximum bytes that one byte may become by replacing.
    fileprivate var growth: Double {
        switch self {
        case .replace(let text, let other): max(1, Double(other.utf8.count) / Double(max(1, text.utf8.count)))
        case .replaceSpaces(let other): max(1, Double(other.utf8.count) / 2)
        default: 1
        }
    }
}

/// Normalizes the text between added tokens before it is split.
struct Normalization: Sendable {
    static let field = "tokenizer.json.normalizer"
    /// Limits of what a file may ask for: steps, and bytes that one byte may become by replacing and prepending.
    private static let (maximumSteps, maximumGrowth, maximumPrefix) = (64, 64.0, 4096)

    private let steps: [NormalizationStep]
    private let map: CharacterMap

    init(_ steps: [NormalizationStep], map blob: [UInt8]) throws(TokenizerError) {
        var (growth, prefix) = (1.0, 0)
        for step in steps {
            switch step {
            case .replace("", _): throw .invalid(field: Self.field, reason: "'Replace' needs a text to replace.")
            case .replace, .replaceSpaces: growth *= step.growth
            case .prepend(let text): prefix += text.utf8.count
            default: break
            }
        }
        guard steps.count <= Self.maximumSteps, growth <= Self.maximumGrowth, prefix <= Self.maximumPrefix else {
            throw .invalid(
                field: Self.field,
                reason:
                    "expected at most \(Self.maximumSteps) steps that make a text at most \(Self.maximumGrowth) times "
                    + "as long and \(Self.maximumPrefix) bytes longer.")
        }
        self.steps = steps
        map = try CharacterMap(blob)
    }

    var isEmpty: Bool { steps.isEmpty }

    /// - Returns: `nil` if the text stays as it is. Text that is not UTF-8 does.
    func normalize(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard !steps.isEmpty, let text = String(validating: bytes, as: UTF8.self) else { return nil }
        return Array(steps.reduce(text) { apply($1, to: $0) }.utf8)
    }

    private func apply(_ step: NormalizationStep, to text: String) -> String {
        switch step {
        case .nfc: Self.byRuns(text) { $0.precomposedStringWithCanonicalMapping }
        case .nfd: Self.byRuns(text) { $0.decomposedStringWithCanonicalMapping }
        // In one step, Foundation does not compose what the mapping of halfwidth forms gives.
        case .nfkc:
            Self.byRuns(text) { $0.decomposedStringWithCompatibilityMapping.precomposedStringWithCanonicalMapping }
        case .nfkd: Self.byRuns(text) { $0.decomposedStringWithCompatibilityMapping }
        case .lowercase: Self.map(text) { $1.append(contentsOf: $0.properties.lowercaseMapping.unicodeScalars) }
        case .stripAccents: Self.keep(text) { !CharacterTable.unicode[$0.value].meets(.mark) }
        case .stripNonspacing: Self.keep(text) { $0.properties.generalCategory != .nonspacingMark }
        case .stripLeft: String(text.unicodeScalars.drop { Self.isSpace($0) })
        case .stripRight: Self.strippedRight(text)
        case .clean:
            Self.map(text) { scalar, result in
                if ["\t", "\n", "\r"].contains(scalar) {
                    result.append(" ")
                } else if scalar.value != 0xFFFD, !Self.isControl(scalar) {
                    result.append(Self.isSpace(scalar) ? " " : scalar)
                }
            }
        case .isolateIdeographs:
            Self.map(text) { scalar, result in
                let isIdeograph = Self.ideographs.contains { $0.contains(scalar.value) }
                if isIdeograph { result.append(" ") }
                result.append(scalar)
                if isIdeograph { result.append(" ") }
            }
        case .nmt:
            Self.map(text) { scalar, result in
                switch scalar.value {
                case 0x01...0x08, 0x0B, 0x0E...0x1F, 0x7F, 0x8F, 0x9F: break
                case 0x09, 0x0A, 0x0C, 0x0D, 0x1680, 0x200B...0x200F, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD:
                    result.append(" ")
                default: result.append(scalar)
                }
            }
        case .precompiled: mapped(text)
        case .replace(let old, let new): String(decoding: Self.replaced(Array(text.utf8), old, new), as: UTF8.self)
        case .replaceSpaces(let new): Self.spacesReplaced(text, new)
        case .prepend(let prefix): text.isEmpty ? text : prefix + text
        }
    }

    private static func map(
        _ text: String, _ change: (Unicode.Scalar, inout String.UnicodeScalarView) -> Void
    ) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { change(scalar, &result) }
        return String(result)
    }

    private static func keep(_ text: String, _ isKept: (Unicode.Scalar) -> Bool) -> String {
        map(text) { if isKept($0) { $1.append($0) } }
    }

    private static func strippedRight(_ text: String) -> String {
        let scalars = text.unicodeScalars
        let end = scalars.lastIndex { !isSpace($0) }.map { scalars.index(after: $0) } ?? scalars.startIndex
        return String(scalars[..<end])
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.isWhitespace }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .privateUse, .surrogate: true
        default: false
        }
    }

    /// Maximum combining marks in a row that are normalized together, since Foundation's time is quadratic in them.
    /// Unicode's limit for streams is 30.
    private static let longestRun = 256

    /// Applies a normalization form to the text in parts. A run of combining marks is cut only after `longestRun` of them,
    /// more than any natural text has.
    private static func byRuns(_ text: String, _ normalize: (String) -> String) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
        var result = ""
        var part = String.UnicodeScalarView()
        var (run, count) = (0, 0)
        for scalar in text.unicodeScalars {
            run = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : run + 1
            // Nothing composes or is reordered across ASCII.
            if run > longestRun || (count > 4096 && scalar.isASCII) {
                result += normalize(String(part))
                part.removeAll(keepingCapacity: true)
                (run, count) = (0, 0)
            }
            part.append(scalar)
            count += 1
        }
        return result + normalize(String(part))
    }

    private static func replaced(_ text: [UInt8], _ old: String, _ new: String) -> [UInt8] {
        let (old, new) = (Array(old.utf8), Array(new.utf8))
        guard let first = old.first else { return text }
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var position = 0
        while position < text.count {
            if text[position] == first, text.count - position >= old.count,
                text[position..<position + old.count].elementsEqual(old)
            {
                result += new
                position += old.count
            } else {
                result.append(text[position])
                position += 1
            }
        }
        return result
    }

    private static func spacesReplaced(_ text: String, _ new: String) -> String {
        var result: [UInt8] = []
        var spaces = 0
        func flush() {
            result += spaces > 1 ? Array(new.utf8) : Array(repeating: UInt8(ascii: " "), count: spaces)
            spaces = 0
        }
        for byte in text.utf8 {
            if byte == UInt8(ascii: " ") {
                spaces += 1
            } else {
                if spaces > 0 { flush() }
                result.append(byte)
            }
        }
        flush()
        return String(decoding: result, as: UTF8.self)
    }

    private func mapped(_ text: String) -> String {
        var text = text
        let result: [UInt8] = text.withUTF8 { bytes in
            var result: [UInt8] = []
            var position = 0
            while position < bytes.count {
                if let (length, replacement) = map.replacement(for: bytes[position...]) {
                    result += replacement
                    position += length
                } else {
                    let length = decodeScalar(bytes, at: position).length
                    result += bytes[position..<position + length]
                    position += length
                }
            }
            return result
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// The ranges that BERT's tokenizer treats as Chinese characters.
    static let ideographs: [ClosedRange<UInt32>] = [
        0x4E00...0x9FFF, 0x3400...0x4DBF, 0x20000...0x2A6DF, 0x2A700...0x2B73F, 0x2B740...0x2B81F, 0x2B920...0x2CEAF,
        0xF900...0xFAFF, 0x2F800...0x2FA1F,
    ]
}
