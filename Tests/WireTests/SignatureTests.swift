import Cryptography
import Foundation
import Testing
import Wire

@Suite("Signatures")
struct SignatureTests {
    /// Values computed with Python's `hmac` and `hashlib`.
    @Test func `an app's signature covers method, path, time and the digest of the body`() {
        let body = Array(#"{"prompt":"Grüße"}"#.utf8)
        let canonical = RequestSignature.canonicalString(
            method: "POST", path: "/chatgpt-simple", timestamp: "1700000000", body: body)
        #expect(
            canonical
                == "POST\n/chatgpt-simple\n1700000000\n49b3ea510ee8c0b8c16360b47722a1e6c244558188641fbff320646f68488907"
        )
        #expect(
            RequestSignature.signature(
                method: "POST", path: "/chatgpt-simple", timestamp: "1700000000", body: body, key: "session token")
                == "d9b2b8c1fbf4c1859c6e6e80c975ef24a9d5395aa00b9c86fbd6475cc59498ac")
    }

    @Test func `an empty body is hashed as empty`() {
        #expect(
            RequestSignature.signature(method: "POST", path: "/auth_token", timestamp: "1", body: [], key: "k")
                == "7684f6b7437e95f6e3b62c803ce3f145faa881315cb2734d93b5d5024fbda500")
    }

    @Test func `a partner's signature covers the plain concatenation`() {
        #expect(
            PartnerSignature.signature(
                identity: "partner-1", method: "POST", path: "/chatgpt", body: Array("{}".utf8), nonce: "1700000000",
                secret: "s3cret") == "bc56c2969b222d2d31f8f47c08ebd5421b920aaa80295a3050f8d2924f1a30f8")
        #expect(
            PartnerSignature.signature(
                identity: "partner-1", method: "GET", path: "/v1/models", body: [], nonce: "1700000000", secret: "")
                == "b8f18feb5fe2ff6e829df7b7aa897edc476808b17f54fce0d21dcae651c65572")
    }

    /// FIPS 180-4 and RFC 4231, test case 2.
    @Test func `digests equal the published ones`() {
        #expect(
            SHA256.digest(of: Array("abc".utf8)).hexadecimal
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            hmacSHA256("what do ya want for nothing?".utf8, key: "Jefe".utf8).hexadecimal
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test func `values are equal only if all their bytes are`() {
        #expect(isEqualInConstantTime("abc".utf8, Array("abc".utf8)))
        #expect(!isEqualInConstantTime("abc".utf8, "abd".utf8))
        #expect(!isEqualInConstantTime("abc".utf8, "abcd".utf8))
        #expect(isEqualInConstantTime([], []))
    }
}
