import CImages

// Decoding with the formats' libraries. Only functions that return errors are used: the error handling of libpng and
// libjpeg would `longjmp` over Swift frames.

extension ImageFormat {
    func decode(_ file: [UInt8], _ limits: RGBImage.Limits) throws(ImageFileError) -> RGBImage {
        switch self {
        case .png: try Self.decodePNG(file, limits)
        case .jpeg: try Self.decodeJPEG(file, limits)
        case .webP: try Self.decodeWebP(file, limits)
        }
    }

    private static func decodePNG(_ file: [UInt8], _ limits: RGBImage.Limits) throws(ImageFileError) -> RGBImage {
        let result: Result<RGBImage, ImageFileError> = file.withUnsafeBytes { bytes in
            var image = png_image()
            image.version = png_uint_32(PNG_IMAGE_VERSION)
            defer { png_image_free(&image) }
            func failure() -> ImageFileError {
                let message = withUnsafeBytes(of: image.message) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                return ImageFileError("The PNG image is damaged: \(message).")
            }
            guard png_image_begin_read_from_memory(&image, bytes.baseAddress, bytes.count) != 0 else {
                return .failure(failure())
            }
            let size = RGBImage.Size(width: Int(image.width), height: Int(image.height))
            do throws(ImageFileError) { try limits.check(size, "PNG") } catch { return .failure(error) }
            // Without this flag, 16-bit files that do not say otherwise would be taken as linear light.
            image.flags |= png_uint_32(PNG_IMAGE_FLAG_16BIT_sRGB)
            // RGBA, one byte per channel.
            image.format = png_uint_32(PNG_FORMAT_FLAG_COLOR) | png_uint_32(PNG_FORMAT_FLAG_ALPHA)
            var pixels = [UInt8](repeating: 0, count: 4 * size.width * size.height)
            guard png_image_finish_read(&image, nil, &pixels, png_int_32(4 * size.width), nil) != 0 else {
                return .failure(failure())
            }
            return .success(RGBImage(size, overWhite: pixels))
        }
        return try result.get()
    }

    private static func decodeJPEG(_ file: [UInt8], _ limits: RGBImage.Limits) throws(ImageFileError) -> RGBImage {
        guard let decoder = tjInitDecompress() else {
            throw ImageFileError("Not enough memory to decode the JPEG image.")
        }
        defer { tjDestroy(decoder) }
        func failure() -> ImageFileError {
            ImageFileError("The JPEG image is damaged: \(String(cString: tjGetErrorStr2(decoder))).")
        }
        // Like other programs, tolerate damage that the library can recover from.
        func isFatal(_ status: Int32) -> Bool { status != 0 && tjGetErrorCode(decoder) != TJERR_WARNING.rawValue }

        var (width, height, sampling, colors) = (Int32(0), Int32(0), Int32(0), Int32(0))
        let length = UInt(file.count)
        let status = tjDecompressHeader3(decoder, file, length, &width, &height, &sampling, &colors)
        if isFatal(status) { throw failure() }
        let size = RGBImage.Size(width: Int(width), height: Int(height))
        try limits.check(size, "JPEG")
        let isPrinted = colors == TJCS_CMYK.rawValue || colors == TJCS_YCCK.rawValue
        var pixels = [UInt8](repeating: 0, count: (isPrinted ? 4 : 3) * size.width * size.height)
        // Limits the number of scans: a file with too many would take minutes.
        let decoded = tjDecompress2(
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
        var features = WebPBitstreamFeatures()
        let status = WebPGetFeatures(file, file.count, &features)
        guard status == VP8_STATUS_OK else {
            throw ImageFileError("The WebP image is damaged: status \(status.rawValue) of its header.")
        }
        guard features.has_animation == 0 else {
            throw ImageFileError("The WebP image is a film; only stills are read.")
        }
        let size = RGBImage.Size(width: Int(features.width), height: Int(features.height))
        try limits.check(size, "WebP")
        var pixels = [UInt8](repeating: 0, count: 4 * size.width * size.height)
        guard WebPDecodeRGBAInto(file, file.count, &pixels, pixels.count, Int32(4 * size.width)) != nil else {
            throw ImageFileError("The WebP image is damaged: its pixels cannot be read.")
        }
        return RGBImage(size, overWhite: pixels)
    }
}
