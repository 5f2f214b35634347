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

    /// Small files of each format, made by other programs: most are 13 by 9 pixels whose red grows to the right, green
    /// downwards, blue with both.
    public static let files: [String: Data] = {
        let encoded: [String: String] = [
            "alphagif":
                "R0lGODlhAgABAIAAAP8AAAkJCSH5BAEAAAEALAAAAAACAAEAAAICRAoAOw==",
            "animatedgif":
                "R0lGODlhDQAJAOYAAAAAABMACyYAFjkAIUwALF8AN3IAQoUATZgAWKsAY74AbtEAeeQAhAAcCxMcFiYcITkcLEwcN18cQnIc"
                + "TYUcWJgcY6scbr4cedEchOQcjwA4FhM4ISY4LDk4N0w4Ql84TXI4WIU4Y5g4bqs4eb44hNE4j+Q4mgBUIRNULCZUNzlUQkxU"
                + "TV9UWHJUY4VUbphUeatUhL5Uj9FUmuRUpQBwLBNwNyZwQjlwTUxwWF9wY3JwboVweZhwhKtwj75wmtFwpeRwsACMNxOMQiaM"
                + "TTmMWEyMY1+MbnKMeYWMhJiMj6uMmr6MpdGMsOSMuwCoQhOoTSaoWDmoY0yobl+oeXKohIWoj5iomquopb6osNGou+SoxgDE"
                + "TRPEWCbEYznEbkzEeV/EhHLEj4XEmpjEpavEsL7Eu9HExuTE0QDgWBPgYybgbjngeUzghF/gj3LgmoXgpZjgsKvgu77gxtHg"
                + "0eTg3AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACH/C05FVFNDQVBFMi4wAwEAAAAh+QQECgD/ACwAAAAADQAJ"
                + "AAAHd4AAAQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAhIiMkJSYnKCkqKywtLi8wMTIzNDU2Nzg5Ojs8PT4/QEFC"
                + "Q0RFRkdISUpLTE1OT1BRUlNUVVZXWFlaW1xdXl9gYWJjZGVmZ2hpamtsbW5vcHFyc3SBACH5BAQKAP8ALAAAAAANAAkAhuQA"
                + "hNEAeb4AbqsAY5gAWIUATXIAQl8AN0wALDkAISYAFhMACwAAAOQcj9EchL4ceascbpgcY4UcWHIcTV8cQkwcNzkcLCYcIRMc"
                + "FgAcC+Q4mtE4j744hKs4eZg4boU4Y3I4WF84TUw4Qjk4NyY4LBM4IQA4FuRUpdFUmr5Uj6tUhJhUeYVUbnJUY19UWExUTTlU"
                + "QiZUNxNULABUIeRwsNFwpb5wmqtwj5hwhIVweXJwbl9wY0xwWDlwTSZwQhNwNwBwLOSMu9GMsL6MpauMmpiMj4WMhHKMeV+M"
                + "bkyMYzmMWCaMTROMQgCMN+SoxtGou76osKuopZiomoWoj3KohF+oeUyobjmoYyaoWBOoTQCoQuTE0dHExr7Eu6vEsJjEpYXE"
                + "mnLEj1/EhEzEeTnEbibEYxPEWADETeTg3NHg0b7gxqvgu5jgsIXgpXLgml/gj0zghDngeSbgbhPgYwDgWAAAAAAAAAAAAAAA"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAd3gAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fICEiIyQlJicoKSorLC0u"
                + "LzAxMjM0NTY3ODk6Ozw9Pj9AQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVpbXF1eX2BhYmNkZWZnaGlqa2xtbm9wcXJzdIEA"
                + "Ow==",
            "gif":
                "R0lGODdhDQAJAOYAAAAAABMACyYAFjkAIUwALF8AN3IAQoUATZgAWKsAY74AbtEAeeQAhAAcCxMcFiYcITkcLEwcN18cQnIc"
                + "TYUcWJgcY6scbr4cedEchOQcjwA4FhM4ISY4LDk4N0w4Ql84TXI4WIU4Y5g4bqs4eb44hNE4j+Q4mgBUIRNULCZUNzlUQkxU"
                + "TV9UWHJUY4VUbphUeatUhL5Uj9FUmuRUpQBwLBNwNyZwQjlwTUxwWF9wY3JwboVweZhwhKtwj75wmtFwpeRwsACMNxOMQiaM"
                + "TTmMWEyMY1+MbnKMeYWMhJiMj6uMmr6MpdGMsOSMuwCoQhOoTSaoWDmoY0yobl+oeXKohIWoj5iomquopb6osNGou+SoxgDE"
                + "TRPEWCbEYznEbkzEeV/EhHLEj4XEmpjEpavEsL7Eu9HExuTE0QDgWBPgYybgbjngeUzghF/gj3LgmoXgpZjgsKvgu77gxtHg"
                + "0eTg3AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACwAAAAADQAJAAAHd4AAAQIDBAUGBwgJCgsMDQ4PEBESExQV"
                + "FhcYGRobHB0eHyAhIiMkJSYnKCkqKywtLi8wMTIzNDU2Nzg5Ojs8PT4/QEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXWFlaW1xd"
                + "Xl9gYWJjZGVmZ2hpamtsbW5vcHFyc3SBADs=",
            "interlacedgif":
                "R0lGODdhDQAJAOYAAAAAABMACyYAFjkAIUwALF8AN3IAQoUATZgAWKsAY74AbtEAeeQAhAAcCxMcFiYcITkcLEwcN18cQnIc"
                + "TYUcWJgcY6scbr4cedEchOQcjwA4FhM4ISY4LDk4N0w4Ql84TXI4WIU4Y5g4bqs4eb44hNE4j+Q4mgBUIRNULCZUNzlUQkxU"
                + "TV9UWHJUY4VUbphUeatUhL5Uj9FUmuRUpQBwLBNwNyZwQjlwTUxwWF9wY3JwboVweZhwhKtwj75wmtFwpeRwsACMNxOMQiaM"
                + "TTmMWEyMY1+MbnKMeYWMhJiMj6uMmr6MpdGMsOSMuwCoQhOoTSaoWDmoY0yobl+oeXKohIWoj5iomquopb6osNGou+SoxgDE"
                + "TRPEWCbEYznEbkzEeV/EhHLEj4XEmpjEpavEsL7Eu9HExuTE0QDgWBPgYybgbjngeUzghF/gj3LgmoXgpZjgsKvgu77gxtHg"
                + "0eTg3AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACwAAAAADQAJAEAHd4AAAQIDBAUGBwgJCgsMaGlqa2xtbm9w"
                + "cXJzdDQ1Njc4OTo7PD0+P0AaGxwdHh8gISIjJCUmTk9QUVJTVFVWV1hZWg0ODxAREhMUFRYXGBknKCkqKywtLi8wMTIzQUJD"
                + "REVGR0hJSktMTVtcXV5fYGFiY2RlZmeBADs=",
            "alpha":
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAYAAAD0In+KAAAAEUlEQVR4nGP4z8Dwn4HhfwMAD3oDfgvLLrEAAAAASUVORK5C"
                + "YII=",
            "alphawebp":
                "UklGRiAAAABXRUJQVlA4TBMAAAAvAQAAEA8Q+z//D/yPChWI6H8AAA==",
            "animated":
                "iVBORw0KGgoAAAANSUhEUgAAAA0AAAAJCAIAAABmGDE9AAAACGFjVEwAAAACAAAAAPONk3AAAAAaZmNUTAAAAAAAAAANAAAA"
                + "CQAAAAAAAAAAAAEACgAAdT/sMAAAABxJREFUeJxjZGBgEGbgJohYGGS4GRgIo1F12BEAWEcG4pI8I1oAAAAaZmNUTAAAAAEA"
                + "AAANAAAACQAAAAAAAAAAAAEACgAA7kwG5AAAABpmZEFUAAAAAnicY2RkYmYgAjARo2hUHU4AABZyABgaL8nLAAAAAElFTkSu"
                + "QmCC",
            "animatedwebp":
                "UklGRhYBAABXRUJQVlA4WAoAAAACAAAADAAACAAAQU5JTQYAAAAAAAAAAABBTk1GtgAAAAAAAAAAAAwAAAgAAGQAAAJWUDhM"
                + "nQAAAC8MAAIAp6OmbQOmQNLBn2v/mRALJv3zJ0lw/usgBQAAAADYPQEADgIAIFtRs27btm3btm1E9D8AkivTO4Kpcme6u4MU"
                + "T25whtKV7mz/gGh8hdEVzlR788MTpguUJnckW+svji+EIVSZPdFcfbA8vVGmSG3xxvKN4er8wVhijdUXLzRH68sXZ0u0Nn+i"
                + "2Bpvrj+CI9XZA8lSe7K9/QEAQU5NRiwAAAAAAAAAAAAMAAAIAABkAAAAVlA4TBQAAAAvDAACAAdQgVQIIAAKmv7HiIj+Bw==",
            "cmyk":
                "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwANCQoLCggNCwoLDg4NDxMgFRMSEhMnHB4XIC4pMTAuKS0sMzpKPjM2RjcsLUBXQUZM"
                + "TlJTUjI+WmFaUGBKUVJP/8AAFAgACQANBEMRAE0RAFkRAEsRAP/EAB8AAAEFAQEBAQEBAAAAAAAAAAABAgMEBQYHCAkKC//E"
                + "ALUQAAIBAwMCBAMFBQQEAAABfQECAwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYXGBkaJSYnKCkqNDU2"
                + "Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrC"
                + "w8TFxsfIycrS09TV1tfY2drh4uPk5ebn6Onq8fLz9PX29/j5+v/aAA4EQwBNAFkASwAAPwDmfDP8FZv/AAhn/TL9KwNJ0v7v"
                + "y16dXqukf8elH/CGf9Mv0rsbLS/3P3aK8q8M/wAFem1maT/DRXqukf8AHpRXY2X+por/2Q==",
            "gray":
                "iVBORw0KGgoAAAANSUhEUgAAAA0AAAAJCAAAAADMEfm2AAAAMUlEQVR4nIWKsQ0AIAzDqFTFM/3/2A4FlA1PseJYDAKIOgOA"
                + "3BhZWDqmT4me6X6ysgHguwOa294a2wAAAABJRU5ErkJggg==",
            "grayjpeg":
                "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQ"
                + "ERMUFRUVDA8XGBYUGBIUFRT/wAALCAAJAA0BAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgED"
                + "AwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RF"
                + "RkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJ"
                + "ytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/APEPAH7L3+r/ANE9P4a+hfDP7L3+gD/RPT+GvTvAHWOv"
                + "ofwz/wAg8fhX/9k=",
            "interlaced":
                "iVBORw0KGgoAAAANSUhEUgAAAA0AAAAJCAIAAAERHwGrAAABI0lEQVR42gXBIcvEIAAG4LdfFC5ZriytT+uyawbbgl3EZtcm"
                + "rI71gbCyfrAk1+1fMPhDvucBgB0KaGpvNwTGjgDRQm9/gB2FVbsN3d4Y8HaYHxgMdnbWPPbA0Ixrx9N+AHsPbBRsdkztzDws"
                + "dHYAeR6yEtm4HPZ8PPnu+QeCF8dnxRSxXNAVHoR9OJtWtkSmL+Yr20DsxO2yWh2tv+xW7QmSF571mn3M25XPmr8gTfPm17bF"
                + "dl7tW1sF6IvQ90A/nI6CTiudHV0iVTvVFzUP9ZWGTjdAfogcBzlxOQu5rFI5qaM0u/SXDI/cqjy6PIE0kTQPaeFJiaTXZFzy"
                + "MYU9bVc6nnTWdPf0BcpCihqK5sWI4tcSXNliOfZyXuV+yreWXy/1H8LOmZEYqD8xAAAAAElFTkSuQmCC",
            "jpeg":
                "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdB"
                + "RkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09P"
                + "T09PT09PT09PT09PT0//wAARCAAJAA0DASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAA"
                + "AgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6"
                + "Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXG"
                + "x8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREA"
                + "AgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5"
                + "OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPE"
                + "xcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwDFsfD/AE+T9K37fw/+7+5+laVj2rftv9XU"
                + "UqsjHK8yrcp//9k=",
            "lossless":
                "UklGRi4AAABXRUJQVlA4TCEAAAAvDAACAM1lRP9jV4NaFLz/ASEBYYj/UzV9JsY/JgA46wYA",
            "palette":
                "iVBORw0KGgoAAAANSUhEUgAAAA0AAAAJBAMAAAAbVLtZAAAAGFBMVEWrxLCrfpUwxGkwfk2rOHmrAGMwODIwABwzCqdbAAAA"
                + "NklEQVR4nD3KwQmAMAwAwLNkZ6cUnKArJH8t8VHweXDHyeQJXbreSBKDxbrjYm6D6CIZ9T/wATCBElRjQSGCAAAAAElFTkSu"
                + "QmCC",
            "progressive":
                "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdB"
                + "RkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09P"
                + "T09PT09PT09PT09PT0//wgARCAAJAA0DASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAABAX/xAAUAQEAAAAAAAAAAAAA"
                + "AAAAAAAC/9oADAMBAAIQAxAAAAET00CP/8QAGBABAAMBAAAAAAAAAAAAAAAAAgAEITH/2gAIAQEAAQUCFeGvgh5//8QAFxEA"
                + "AwEAAAAAAAAAAAAAAAAAAAIEEf/aAAgBAwEBPwGWl8P/xAAWEQEBAQAAAAAAAAAAAAAAAAACAAH/2gAIAQIBAT8BK2//xAAU"
                + "EAEAAAAAAAAAAAAAAAAAAAAg/9oACAEBAAY/Ah//xAAXEAADAQAAAAAAAAAAAAAAAAAAEFFh/9oACAEBAAE/IciBz//aAAwD"
                + "AQACAAMAAAAQa//EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQMBAT8QB//EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQIB"
                + "AT8Qb//EABkQAAEFAAAAAAAAAAAAAAAAAAAQMUHB8f/aAAgBAQABPxBipgkEv//Z",
            "sixteen":
                "iVBORw0KGgoAAAANSUhEUgAAAA0AAAAJEAIAAAA2iO1+AAACB0lEQVR42h3SIQ7kIABAUfxIklGYMaj6gq2mDoFD4AnB4cGR"
                + "1JL6JiSY+iYoMh6/AsFBdnb/AZ76APwPQgBeL4wBeL8pBeDzYQyAZZESgHW1FoBtCwGAfU8JACFKAUCpWgHQuncAnJsTAO9/"
                + "FEKvF4QIvd8YI/T5UIrQsjCG0LpKidC2WYvQvoeAkBApIaRUKQhpXStCzvWOkPdzInQcP46Q9xtCQj4fjAlZFkoJWVfGCNk2"
                + "KQnZd2sJESIEQpRKiRCtSyHEuVoJ8b53Qo5jTkLO88dx/vlAyPmyYMz5ulLK+bYxxvm+S8m5ENZyrlQInGudEufOlcK597Vy"
                + "fhy9c36ec3J+XT/OmGWB0Jh1xdiYbaPUmH1nzBghpDRGKWuN0ToEY5xLyRjvSzHmOGo15jx7N+a65jTmvn9cjOsKYYzbhnGM"
                + "+05pjEIwFqNSUsaotbUxOhdCjN6nFONxlBLjedYa43X1HuN9zxnj8/y4nLcNwpz3HeOchaA0Z6UYy1lrKXN2ztqcvQ8h5+NI"
                + "KefzLCXn66o15/vuPefnmTPn7/fHtbbvELYmBMatKUVpa1oz1ppzUrbmvbWtHUcIrZ1nSq1dVymt3XetrT1P7619v3O29m8Z"
                + "MIYQEI6hFMZjaE3pGM4xNob3Uo5xHNaOcZ4hjHFdKY1x36WM8Ty1jvH99j5G73OO8efPX0bnMzAACcPgAAAAAElFTkSuQmCC",
            "webp":
                "UklGRkQAAABXRUJQVlA4IDgAAACwAQCdASoNAAkAAsBMJbACdAEOtW9oAP7244S7vbD6ZGLa666j7+a9Ysl+0/qOmPJ/thDi"
                + "BeAAAA==",
        ]
        return encoded.mapValues { file($0) }
    }()

    /// A JPEG file with Exif data that declares this orientation.
    public static func jpeg(orientation: Int) -> Data {
        let jpeg = files["jpeg"] ?? Data()
        // One entry: the orientation tag, one 16-bit number.
        let exif: [UInt8] =
            Array("Exif\0\0II".utf8) + [42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, UInt8(orientation), 0]
            + [UInt8](repeating: 0, count: 6)
        return jpeg.prefix(2) + [0xFF, 0xE1, 0, UInt8(exif.count + 2)] + exif + jpeg.dropFirst(2)
    }
}
