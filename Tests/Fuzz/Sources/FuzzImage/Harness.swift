@testable import Networks

// Nothing may trap, whatever the file holds; an image has the pixels that its size says, and not more than it may.
private func check(_ bytes: [UInt8]) {
    guard let image = try? RGBImage(file: bytes, limits: .init(pixels: 1 << 16)) else { return }
    precondition(image.size.width * image.size.height <= 1 << 16, "more pixels than allowed")
    precondition(image.bytes.count == 3 * image.size.width * image.size.height, "not as many bytes as pixels")
}

/// What libFuzzer, whose library has the `main`, calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
