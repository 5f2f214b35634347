public import Foundation

/// Stores each secret in a file that only its owner can read.
public struct FileSecretStore: SecretStore {
    private let directory: URL

    /// - Parameter directory: Created when the first secret is stored.
    public init(directory: URL) { self.directory = directory }

    /// - Throws: `SecretStoreError` if the file cannot be read, is a link, or is accessible to others, so that it may
    ///   not be this store's.
    public func secret(named name: String) throws(SecretStoreError) -> [UInt8]? {
        let path = path(name)
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file != -1 else {
            switch errno {
            case ENOENT: return nil
            case ELOOP: throw .init("\(path): expected a file of this app, found a link. Remove it.")
            default: throw .system(path)
            }
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw .system(path) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            throw .init("\(path): expected a file of this user. Remove it.")
        }
        guard status.st_mode & 0o077 == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw .init(
                "\(path): others may use it (mode \(mode)): whoever could read it may have its secret. Remove it.")
        }
        do {
            return try FileHandle(fileDescriptor: file).readToEnd().map(Array.init) ?? []
        } catch {
            throw .init("\(path): \(error.localizedDescription)")
        }
    }

    public func keep(_ secret: [UInt8], named name: String, until _: Date) throws(SecretStoreError) {
        do {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw .init("\(directory.path): \(error.localizedDescription)")
        }
        // Write a temporary file and rename it, so that nobody reads a partial secret.
        let path = path(name)
        var template = Array("\(path).XXXXXX".utf8CString)
        let file = mkstemp(&template)  // with mode 600
        guard file != -1 else { throw .system(directory.path) }
        var written = false
        defer {
            close(file)
            if !written { unlink(template) }
        }
        do {
            try FileHandle(fileDescriptor: file).write(contentsOf: secret)
        } catch {
            throw .init("\(path): \(error.localizedDescription)")
        }
        guard fsync(file) == 0, rename(template, path) == 0 else { throw .system(path) }
        written = true
    }

    public func remove(named name: String) throws(SecretStoreError) {
        let path = path(name)
        guard unlink(path) == 0 || errno == ENOENT else { throw .system(path) }
    }

    /// Percent-encodes the name, so that any name is a valid file name.
    private func path(_ name: String) -> String {
        let file = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        return directory.appendingPathComponent(file + ".secret").path
    }
}
