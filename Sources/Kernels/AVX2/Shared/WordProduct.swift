// Products of 16-bit integers, for prompts and weights in F16 and BF16; see `WordTile`.

public import KernelFormats
import KernelsFloat

/// As `KernelsFloat.multiplyWords`.
@inline(never)
public func multiplyWords(_ product: WordProduct) { multiplyWords(SixColumns<EightIntegers>.self, product) }
