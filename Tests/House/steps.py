"""Adds a weight format, a model family with a mixer of its own, and a sampler to a copy of the repository: Tests/House/steps.py COPY

The copy is changed only where a section of CONTRIBUTING.md, or "Adding a family" of docs/layout.md, says so; any other change is refused
here. `steps.sh` then builds the copy and runs its tests, which shows that the sections name every place.
"""

import json
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])


def section(document, title):
    """The paths that a section names in code spans."""
    text = (root / document).read_text()
    match = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.S | re.M)
    if not match:
        sys.exit(f"error: {document} has no section '{title}'")
    places = re.findall(r"`([A-Za-z][\w+./-]*/[\w+./-]*)`|\b(docs/\w+\.md)", match[1])
    # docs/layout.md leaves out the name of the folder that it describes.
    return [place for pair in places for name in pair if name for place in (name, "Sources/" + name)]


class Steps:
    """The changes of one section."""

    def __init__(self, document, title, *folders):
        self.title = title
        self.places = section(document, title) + list(folders)

    def check(self, path):
        if not any(path == place or path.startswith(place.rstrip("/") + "/") for place in self.places):
            sys.exit(f"error: '{self.title}' does not name {path}")

    def add(self, path, text):
        self.check(path)
        assert not (root / path).exists(), path
        (root / path).write_text(text)

    def insert(self, path, anchor, text, before=False):
        """Inserts after the only line that contains `anchor`, or before it."""
        self.check(path)
        lines = (root / path).read_text().splitlines(keepends=True)
        found = [index for index, line in enumerate(lines) if anchor in line]
        if len(found) != 1:
            sys.exit(f"error: {path}: expected one line with {anchor!r}, found {len(found)}")
        lines.insert(found[0] + (0 if before else 1), text)
        (root / path).write_text("".join(lines))

    def replace(self, path, old, new):
        self.check(path)
        text = (root / path).read_text()
        if text.count(old) != 1:
            sys.exit(f"error: {path}: expected {old!r} once, found {text.count(old)}")
        (root / path).write_text(text.replace(old, new))


# MARK: A format of 32 bytes with one scale

form = Steps("CONTRIBUTING.md", "Add a weight format")
form.insert("Sources/Kernels/Formats/TensorType.swift", "case Q2_0 = 42", "    case STEPS = 99\n")
form.insert(
    "Sources/Kernels/Formats/TensorType.swift", "case .Q8_0: size(", "        case .STEPS: size(BlockSTEPS.self)\n")
form.add("Sources/Kernels/Formats/BlockSTEPS.swift", """
/// 32 values of 8 bits with one scale.
///
///     | qs: 32 × i8 | d: f16 |                 value = d · q
public struct BlockSTEPS: Block {
    public static let values = 32
    public static let bytes = 34

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base + 32) }
    @inlinable @inline(__always) public var qs: UnsafePointer<Int8> { base.assumingMemoryBound(to: Int8.self) }
}
""".lstrip())
form.add("Sources/Kernels/Portable/Blocks/BlockSTEPS.swift", """
import KernelFormats

extension BlockSTEPS: PortableBlock {
    static var halfScales: (Int, Int) { (32, 32) }

    @inline(__always)
    func write(to out: UnsafeMutablePointer<Float>) {
        let (d, qs) = (self.d, self.qs)
        for j in 0..<Self.values { out[j] = d * Float(qs[j]) }
    }
}
""".lstrip())
form.insert(
    "Sources/Kernels/Portable/Blocks/PortableBlock.swift", "case .Q8_0: kernel.run(BlockQ8_0.self)",
    "        case .STEPS: kernel.run(BlockSTEPS.self)\n")
form.insert("Tests/KernelsTests/DequantizeTests.swift", ".NVFP4: (64, 36)", "            .STEPS: (32, 34),\n")
form.add("Tests/KernelsTests/StepsFormatTests.swift", """
import KernelFormats
import KernelsPortable
import Testing

@Suite struct StepsFormatTests {
    @Test func `a format that was added by the steps is read`() {
        var block = (0..<32).map { UInt8(bitPattern: Int8($0 - 16)) } + [0x00, 0x40]
        var values = [Float](repeating: 0, count: 32)
        dequantize(.STEPS, block, into: &values, count: 32)
        #expect(values == (0..<32).map { 2 * Float($0 - 16) })
        #expect(firstNonFiniteBlock(.STEPS, block, count: 1) == nil)
        block[33] = 0x7c
        #expect(firstNonFiniteBlock(.STEPS, block, count: 1) == 0)
    }
}
""".lstrip())

# MARK: Arcee's family under another name, with a mixer that doubles and halves its input

family = Steps("docs/layout.md", "Adding a family")
family.add("Sources/Networks/Steps.swift", """
extension Family {
    static let steps: [String: Family] = [
        "steps": Family(
            rotary: .adjacent, activation: .squaredReLU, isGated: false,
            mixer: { layer throws(ModelFileError) in try layer.attention().map(HalvedAttention.init) })
    ]
}
""".lstrip())
family.insert("Sources/Networks/Steps.swift", "extension Family {", "import Compute\nimport GGUF\nimport KernelFormats\n\n", before=True)
family.replace("Sources/Networks/Registry.swift", "Family.deepseeks, Family.others,", "Family.deepseeks, Family.others, Family.steps,")
family.add("Sources/Networks/Blocks/HalvedAttention.swift", """
import Compute

/// Attention, times two and times one half.
final class HalvedAttention: Mixer {
    private let attention: any Mixer

    init(_ attention: some Mixer) { self.attention = attention }

    var state: LayerState { attention.state }

    func forward(_ input: Matrix, into output: Matrix, _ context: LayerContext) {
        attention.forward(input, into: output, context)
        context.compute.halve(output, times: 2)
    }
}
""".lstrip())
family.add("Sources/Compute/Operations/Halving.swift", """
extension Compute {
    /// Doubles and halves all values, some times.
    package func halve(_ matrix: Matrix, times: Int) {
        forEachRow(of: matrix) { row in
            let values = matrix[row]
            for index in 0..<matrix.columns { for _ in 0..<times { values[index] = values[index] * 2 * 0.5 } }
        }
    }
}
""".lstrip())
family.insert(
    "Tests/Reference/family_table.py", 'Case("arcee",', 'Case("steps", "ArceeForCausalLM", architecture="steps", pairs=True)\n')
# In place of transformers: Arcee's model and logits, with the other name.
data = (root / "Tests/Reference/families/arcee.json").read_text()
family.add("Tests/Reference/families/steps.json", data.replace('"arcee', '"steps'))
family.insert("docs/models.md", "| `step35` ", "| `steps`                | dense                                          | transformers |\n")

# MARK: Top-a sampling

sampler = Steps("CONTRIBUTING.md", "Add a sampler")
sampler.add("Sources/Engine/Sampling/TopA.swift", """
extension Candidates {
    /// Keeps candidates with at least the probability `a` times the square of the highest (top-a sampling).
    mutating func filterTopA(_ a: Double, scratch: inout [Double]) {
        guard a > 0, count > 1 else { return }
        probabilities(into: &scratch)
        let highest = scratch.max() ?? 0
        keep(scratch.indices.filter { scratch[$0] >= min(highest, a * highest * highest) })
    }
}
""".lstrip())
options = "Sources/Engine/Sampling/SamplingOptions.swift"
sampler.insert(options, "public var topNSigma", "    /// Keep tokens with this times the square of the highest probability; `nil` and 0 keep all.\n    public var topA: Double?\n")
sampler.replace(options, "topLogprobs, topNSigma, xtc, dry\n", "topLogprobs, topNSigma, topA, xtc, dry\n")
sampler.replace(options, "topNSigma: Double? = nil, xtc: XTC? = nil,", "topNSigma: Double? = nil, topA: Double? = nil, xtc: XTC? = nil,")
sampler.insert(options, "self.topNSigma = topNSigma", "        self.topA = topA\n")
sampler.insert("Sources/Engine/Sampling/Chain.swift", 'check("topNSigma"', '        try check("topA", topA, 0...1)\n')
chain = "Sources/Engine/Sampling/Sampler.swift"
sampler.insert(chain, "candidates.filterTopNSigma(", "        candidates.filterTopA(options.topA ?? 0, scratch: &scratch)\n")
sampler.replace(chain, "(options.topNSigma ?? 0) <= 0 else", "(options.topNSigma ?? 0) <= 0, (options.topA ?? 0) <= 0 else")
sampler.insert("Sources/Wire/SamplingField+Table.swift", '("presence_penalty", .openAI)', """\
            ("top_a", .llama), kind: probability, standard: 0, label: "Top-a", isFolded: true,
            "no tokens less likely than this times the square of the highest probability; 0 is off"),
        Self(
""", before=True)
sampler.insert("Sources/Providers/SamplingBinding.swift", '"top_n_sigma"', '        Self(.number, "top_a", \\.topA),\n')
sampler.add("Tests/LocalLLMTests/StepsSamplerTests.swift", """
@testable import Engine
import Testing

@Suite struct StepsSamplerTests {
    @Test func `a sampler that was added by the steps follows its definition`() {
        let logits: [Float] = [2, 1, 0, -1, -2]
        var candidates = Candidates()
        logits.withUnsafeBufferPointer { candidates.reset(to: $0) }
        var scratch: [Double] = []
        candidates.filterTopA(0.5, scratch: &scratch)
        // Probabilities 0.637, 0.234, 0.086, 0.032, 0.012; the least is 0.5 · 0.637² = 0.203.
        #expect(candidates.ids.sorted() == [0, 1])
    }
}
""".lstrip())
print("changed as the sections say")
