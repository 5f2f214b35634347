public import Foundation

/// Small images as files.
public enum TestImages {
    /// Of 4 by 4 random pixels.
    public static let first = file(
        "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAP0lEQVR4nAE0AMv/AEQggjz95vHCazD5DgDH3QHkiHU0og8LDQQAw27YDnHg/XewdnDrAJQL1TNflz2q2GGbkW6RGCjC6bA+AAAAAElFTkSuQmCC"
    )
    /// Others.
    public static let second = file(
        "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAP0lEQVR4nAE0AMv/ABwuK7hWnYBsElHcyQC+44kSDrruo8LYVFoAeHYMWqZYRbhd5NS6ALW55FLM7H/6jv+16GstGw+u+3rAAAAAAElFTkSuQmCC"
    )

    private static func file(_ base64: String) -> Data { Data(base64Encoded: base64) ?? Data() }
}
