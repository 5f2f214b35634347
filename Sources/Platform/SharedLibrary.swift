/// A library of the system that is loaded when it is first needed: programs are not linked with it and start without it.
public struct SharedLibrary<Functions>: @unchecked Sendable {
    /// A struct of pointers to the library's functions. Never written after `load`, never freed.
    public let functions: UnsafePointer<Functions>

    /// - Parameters:
    ///   - name: File name with the version of the interface: "libpng16.so.16".
    ///   - package: Debian's package of the library, for the error.
    ///   - empty: The struct before its functions are found.
    ///   - find: Looks the functions up in the loaded library. Returns the name of one that is missing.
    public static func load(
        _ name: String, package: String, _ empty: Functions,
        _ find: (UnsafeMutablePointer<Functions>, UnsafeMutableRawPointer) -> UnsafePointer<CChar>?
    ) -> Result<SharedLibrary, SharedLibraryError> {
        guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
            let reason = dlerror().map { String(cString: $0) } ?? name
            return .failure(SharedLibraryError(library: name, package: package, reason: reason))
        }
        let functions = UnsafeMutablePointer<Functions>.allocate(capacity: 1)
        functions.initialize(to: empty)
        if let missing = find(functions, library) {
            functions.deallocate()
            let reason = "\(name) has no function '\(String(cString: missing))'"
            return .failure(SharedLibraryError(library: name, package: package, reason: reason))
        }
        return .success(SharedLibrary(functions: UnsafePointer(functions)))
    }
}

/// Why a library of the system could not be loaded.
public struct SharedLibraryError: Error, Equatable, Sendable, CustomStringConvertible {
    public let library: String
    /// Debian's package of the library.
    public let package: String
    /// What the dynamic linker says.
    public let reason: String

    public var description: String {
        "cannot load \(library) (\(reason)); install it, on Debian: apt-get install \(package)"
    }
}
