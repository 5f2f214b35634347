import CImages
@testable import Networks
import Platform
import Testing

/// Libraries that are loaded when they are needed: which of them is missing, and what to install.
@Suite struct SharedLibraryTests {
    @Test func `a library that the system lacks is an error that names it and its package`() throws {
        let error = try #require(throws: SharedLibraryError.self) {
            try SharedLibrary.load("libmissing.so.9", package: "libmissing9", libpng(), libpng_find).get()
        }
        #expect(error.library == "libmissing.so.9")
        #expect("\(error)".hasPrefix("cannot load libmissing.so.9 ("))
        #expect("\(error)".hasSuffix("; install it, on Debian: apt-get install libmissing9"))

        let image = ImageFileError(missingLibrary: error, for: "PNG")
        #expect(image.isLibraryMissing)
        #expect(image.description.hasPrefix("PNG images cannot be read here: cannot load libmissing.so.9 ("))
    }

    @Test func `a library without a function that is needed is an error that names the function`() throws {
        // Every program has the C library.
        let error = try #require(throws: SharedLibraryError.self) {
            try SharedLibrary.load("libc.so.6", package: "libpng16-16", libpng(), libpng_find).get()
        }
        #expect(error.reason == "libc.so.6 has no function 'png_create_read_struct'")
    }

    @Test func `a damaged image is no missing library`() throws {
        let error = try #require(throws: ImageFileError.self) { try RGBImage(file: []) }
        #expect(!error.isLibraryMissing)
    }
}
