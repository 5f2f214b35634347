extension GGUFFile {
    /// Opens a model: a file, or a folder of safetensors as the file that it would be converted to. Any part of a split model
    /// opens all of it; the others are looked for beside it.
    init(path: String) throws(ModelFileError) {
        if SafetensorsFolder.isFolder(path) {
            self = try FolderModel(SafetensorsFolder(path: path)).file()
        } else {
            try self.init(path: path, parts: GGUFPart.all(startingWith: path))
        }
    }
}
