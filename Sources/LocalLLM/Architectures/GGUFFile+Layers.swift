/// Tensors as the shapes that networks are made of.
extension GGUFFile {
    /// `[rows, columns]`, any number of rows.
    func matrix(_ name: String, columns: Int) throws(ModelFileError) -> WeightMatrix {
        let tensor = try tensor(name)
        guard tensor.shape.count == 2, tensor.shape[0] == columns else {
            throw invalidTensor(name, "expected shape [\(columns), any], found \(tensor.shape)")
        }
        return WeightMatrix(tensor)
    }

    /// `name.weight` `[outputs, inputs]`, and `name.bias` where there is one.
    func linear(_ name: String, from inputs: Int, to outputs: Int) throws(ModelFileError) -> Linear {
        Linear(
            weights: WeightMatrix(try tensor(name + ".weight", shape: [inputs, outputs])),
            bias: try vectorIfPresent(name + ".bias", outputs))
    }

    func vector(_ name: String, _ count: Int) throws(ModelFileError) -> [Float] {
        try tensor(name, shape: [count]).floats()
    }

    func vectorIfPresent(_ name: String, _ count: Int) throws(ModelFileError) -> [Float]? {
        try tensorIfPresent(name, shape: [count])?.floats()
    }
}
