import COpenBLAS
package import Platform

/// OpenBLAS, for attention without a causal mask. It is loaded with the first encoder: other models do not need it.
package enum BLAS {
    private static let loaded = {
        let loaded = SharedLibrary.load("libopenblas.so.0", package: "libopenblas0", openblas(), openblas_find)
        // Our threads call OpenBLAS in parallel; its own threads would only compete with them.
        if case .success(let library) = loaded { library.functions.pointee.openblas_set_num_threads(1) }
        return loaded
    }()

    /// Must have succeeded before `Compute.attention` without a causal mask is called.
    package static func load() throws(SharedLibraryError) { _ = try loaded.get() }

    static var functions: openblas {
        guard case .success(let library) = loaded else {
            preconditionFailure("encoders are built after OpenBLAS was loaded")
        }
        return library.functions.pointee
    }
}
