extension GGUFFile {
    /// Opens a model: a GGUF file, or a folder of safetensors, converted in memory. For a split model any part may be
    /// given; the others are looked up beside it.
    package init(path: String) throws(ModelFileError) {
        if SafetensorsFolder.isFolder(path) {
            self = try Checkpoint(SafetensorsFolder(path: path)).file()
        } else {
            try self.init(path: path, parts: GGUFPart.all(startingWith: path))
        }
    }
}
