import CImages
import Platform

// Decoding with the formats' libraries. Only functions that return errors are used: the error handling of libjpeg would
// `longjmp` over Swift frames.

extension ImageFormat {
    func decode(_ file: [UInt8], _ limits: RGBImage.Limits) throws(ImageFileError) -> RGBImage {
        switch self {
        case .png:
            var decoder = try PNGDecoder(file, ImageLibraries.png())
            return try decoder.image(limits)
        case .jpeg: return try Self.decodeJPEG(file, limits)
        case .webP: return try Self.decodeWebP(file, limits)
        case .gif:
            var decoder = GIFDecoder(file)
            return try decoder.image(limits)
        }
    }

    private static func decodeJPEG(_ file: [UInt8], _ limits: RGBImage.Limits) throws(ImageFileError) -> RGBImage {
        let library = try ImageLibraries.jpeg().functions.pointee
        guard let decoder = library.tjInitDecompress() else {
            throw ImageFileError("Not enough memory to decode the JPEG image.")
        }
        defer { _ = library.tjDestroy(decoder) }
        func failure() -> ImageFileError {
            let reason = library.tjGetErrorStr2(decoder).map { String(cString: $0) } ?? "unknown error"
            return ImageFileError("The JPEG image is damaged: \(reason).")
        }
        // Like other programs, tolerate damage that the library can recover from.
        func isFatal(_ status: Int32) -> Bool {
            status != 0 && library.tjGetErrorCode(decoder) != TJERR_WARNING.rawValue
        }

        var (width, height, sampling, colors) = (Int32(0), Int32(0), Int32(0), Int32(0))
        let length = UInt(file.count)
        let status = library.tjDecompressHeader3(decoder, file, length, &width, &height, &sampling, &colors)
        if isFatal(status) { throw failure() }
        let size = RGBImage.Size(width: Int(width), height: Int(height))
        try limits.check(size, "JPEG")
        try limits.check(scans: JPEGScans.count(in: file), of: size)
        let isPrinted = colors == TJCS_CMYK.rawValue || colors == TJCS_YCCK.rawValue
        var pixels = [UInt8](repeating: 0, count: (isPrinted ? 4 : 3) * size.width * size.height)
        // Limits the number of scans: a file with too many would take minutes.
        let decoded = library.tjDecompress2(
            decoder, file, length, &pixels, width, 0, height, (isPrinted ? TJPF_CMYK : TJPF_RGB).rawValue,
            TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS)
        if isFatal(decoded) { throw failure() }
        guard isPrinted else { return RGBImage(unchecked: size, pixels) }
        // CMYK inks are stored inverted: 255 is none.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(3 * size.width * size.height)
        for pixel in stride(from: 0, to: pixels.count, by: 4) {
            let black = Int(pixels[pixel + 3])
            for ink in pixel..<pixel + 3 { bytes.append(UInt8(Int(pixels[ink]) * black / 255)) }
        }
        return RGBImage(unchecked: size, bytes)
    }

    private static func decodeWebP(_ file: [UInt8], _ limits: RGBImage.Limits) throws(ImageFileError) -> RGBImage {
        let library = try ImageLibraries.webP().functions.pointee
        var features = WebPBitstreamFeatures()
        let status = library.WebPGetFeaturesInternal(file, file.count, &features, WEBP_DECODER_ABI_VERSION)
        guard status == VP8_STATUS_OK else {
            throw ImageFileError("The WebP image is damaged: status \(status.rawValue) of its header.")
        }
        guard features.has_animation == 0 else {
            throw ImageFileError("The WebP image is a film; only stills are read.")
        }
        let size = RGBImage.Size(width: Int(features.width), height: Int(features.height))
        try limits.check(size, "WebP")
        let hasAlpha = features.has_alpha != 0
        let channels = hasAlpha ? 4 : 3
        var pixels = [UInt8](repeating: 0, count: channels * size.width * size.height)
        let result = pixels.withUnsafeMutableBufferPointer { pixels in
            decodeWebP(
                file, library, mode: hasAlpha ? MODE_RGBA : MODE_RGB, rowBytes: channels * size.width, into: pixels)
        }
        if Task.isCancelled { throw .cancelled }
        guard result == VP8_STATUS_OK else {
            throw ImageFileError("The WebP image is damaged: status \(result.rawValue) of its pixels.")
        }
        return hasAlpha ? RGBImage(size, overWhite: pixels) : RGBImage(unchecked: size, pixels)
    }

    /// Decodes piece by piece, until the task is cancelled.
    private static func decodeWebP(
        _ file: [UInt8], _ library: libwebp, mode: WEBP_CSP_MODE, rowBytes: Int,
        into pixels: UnsafeMutableBufferPointer<UInt8>
    ) -> VP8StatusCode {
        guard let decoder = library.WebPINewRGB(mode, pixels.baseAddress, pixels.count, Int32(rowBytes)) else {
            return VP8_STATUS_OUT_OF_MEMORY
        }
        defer { library.WebPIDelete(decoder) }
        // Each piece searches the chunks before the pixels again.
        let piece = max(1 << 16, file.count / 64)
        var (count, status) = (0, VP8_STATUS_SUSPENDED)
        while status == VP8_STATUS_SUSPENDED, count < file.count, !Task.isCancelled {
            count = min(count + piece, file.count)
            status = library.WebPIUpdate(decoder, file, count)
        }
        return status
    }
}
