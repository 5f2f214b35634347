import CImages
import Platform

/// The libraries that decode images. Each is loaded when the first image of its format is read.
enum ImageLibraries {
    private static let loadedPNG = SharedLibrary.load(
        "libpng16.so.16", package: "libpng16-16", libpng(), libpng_find)
    private static let loadedJPEG = SharedLibrary.load(
        "libturbojpeg.so.0", package: "libturbojpeg0", turbojpeg(), turbojpeg_find)
    private static let loadedWebP = SharedLibrary.load(
        "libwebp.so.7", package: "libwebp7", libwebp(), libwebp_find)

    static func png() throws(ImageFileError) -> SharedLibrary<libpng> { try library(loadedPNG, for: "PNG") }
    static func jpeg() throws(ImageFileError) -> SharedLibrary<turbojpeg> { try library(loadedJPEG, for: "JPEG") }
    static func webP() throws(ImageFileError) -> SharedLibrary<libwebp> { try library(loadedWebP, for: "WebP") }

    private static func library<Functions>(
        _ loaded: Result<SharedLibrary<Functions>, SharedLibraryError>, for format: String
    ) throws(ImageFileError) -> SharedLibrary<Functions> {
        switch loaded {
        case .success(let library): return library
        case .failure(let error): throw ImageFileError(missingLibrary: error, for: format)
        }
    }
}
