/// The encoder's input of a sequence in an encoder-decoder, and the keys and values of its states, to which the
/// decoder's layers attend. Shared by forks of the sequence.
package final class SequenceEncoding {
    package let input: [Int32]
    /// By decoder layer, `[input tokens, KV heads · width]` each; empty before the sequence's first step.
    package private(set) var layers: [(keys: Matrix, values: Matrix)] = []
    private var buffers: [AlignedBuffer] = []

    /// - Parameter input: At least one token.
    package init(_ input: [Int32]) { self.input = input }

    /// Adds a layer, which `fill` computes.
    package func append(keyWidth: Int, valueWidth: Int, _ fill: (_ keys: Matrix, _ values: Matrix) -> Void) {
        let (keys, values) = (
            AlignedBuffer(floats: input.count * keyWidth), AlignedBuffer(floats: input.count * valueWidth)
        )
        buffers += [keys, values]
        let layer = (
            keys: keys.matrix(rows: input.count, columns: keyWidth),
            values: values.matrix(rows: input.count, columns: valueWidth)
        )
        fill(layer.keys, layer.values)
        layers.append(layer)
    }
}
