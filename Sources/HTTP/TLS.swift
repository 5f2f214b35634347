import COpenSSL

/// A server's certificate and key, ready for TLS 1.2 and 1.3.
///
/// `@unchecked Sendable`: the context is not changed after `init`, and OpenSSL counts its references atomically.
package final class TLSIdentity: @unchecked Sendable {
    private let context: OpaquePointer

    /// - Parameters:
    ///   - certificateFile: PEM; the server's certificate first, then the intermediate ones.
    ///   - privateKeyFile: PEM, without a passphrase.
    package init(certificateFile: String, privateKeyFile: String) throws(NetworkError) {
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw .tls("TLS") }
        self.context = context
        guard swift_SSL_CTX_set_min_tls12(context) == 1 else { throw .tls("TLS 1.2") }
        _ = swift_SSL_CTX_set_modes(context)
        // Renegotiation would let clients cause repeated handshakes.
        SSL_CTX_set_options(context, swift_SSL_OP_NO_RENEGOTIATION())
        SSL_CTX_set_default_passwd_cb(context, refusePassphrase)
        guard SSL_CTX_use_certificate_chain_file(context, certificateFile) == 1 else {
            throw .tls("certificate \(certificateFile)")
        }
        guard SSL_CTX_use_PrivateKey_file(context, privateKeyFile, SSL_FILETYPE_PEM) == 1,
            SSL_CTX_check_private_key(context) == 1
        else { throw .tls("private key \(privateKeyFile)") }
        SSL_CTX_set_alpn_select_cb(context, selectHTTP11, nil)
    }

    deinit { SSL_CTX_free(context) }

    func session(_ descriptor: Int32) -> TLSSession? {
        guard let ssl = SSL_new(context) else { return nil }
        guard SSL_set_fd(ssl, descriptor) == 1 else {
            SSL_free(ssl)
            return nil
        }
        SSL_set_accept_state(ssl)
        return TLSSession(ssl: ssl)
    }
}

extension NetworkError {
    /// OpenSSL's last error, about `subject`.
    static func tls(_ subject: String) -> Self {
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(ERR_peek_last_error(), &text, text.count)
        ERR_clear_error()
        let reason = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return .init(reason: .certificate, message: "\(subject): \(reason)")
    }
}

/// Result of a call on a non-blocking socket.
enum IOResult {
    case bytes(Int)
    case wantsRead
    case wantsWrite
    /// The peer closed its sending half.
    case ended
    case failed
}

/// TLS on one connection's socket. Used on the event loop's thread only.
final class TLSSession {
    private let ssl: OpaquePointer
    /// After a fatal error OpenSSL forbids further calls, including `SSL_shutdown`.
    private var isBroken = false

    init(ssl: OpaquePointer) { self.ssl = ssl }

    deinit { SSL_free(ssl) }

    func handshake() -> IOResult { call { SSL_do_handshake(ssl) } }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        call { SSL_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count)) }
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> IOResult {
        call { SSL_write(ssl, bytes.baseAddress, Int32(clamping: bytes.count)) }
    }

    /// Why the peer's certificate was not accepted; `nil` if it was.
    var certificateFault: String? {
        let code = SSL_get_verify_result(ssl)
        return code == X509_V_OK ? nil : String(cString: X509_verify_cert_error_string(code))
    }

    /// Sends TLS's closing message, unless that would block.
    func sendClose() {
        if !isBroken { _ = call { SSL_shutdown(ssl) } }
    }

    private func call(_ body: () -> Int32) -> IOResult {
        ERR_clear_error()  // SSL_get_error also reports earlier errors of this thread
        let count = body()
        if count > 0 { return .bytes(Int(count)) }
        switch SSL_get_error(ssl, count) {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_ZERO_RETURN: return .ended
        default:
            isBroken = true
            return .failed
        }
    }
}

/// Selects http/1.1 if the client offers it (ALPN).
private func selectHTTP11(
    _: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenLength: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredLength: UInt32,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    // Each name is preceded by its length; OpenSSL has checked that they fill the list.
    let list = UnsafeBufferPointer(start: offered, count: Int(offeredLength))
    var i = 0
    while i < list.count {
        let name = list.dropFirst(i + 1).prefix(Int(list[i]))
        if name.elementsEqual("http/1.1".utf8), let offered {
            chosen?.pointee = offered + i + 1
            chosenLength?.pointee = list[i]
            return SSL_TLSEXT_ERR_OK
        }
        i += 1 + Int(list[i])
    }
    return SSL_TLSEXT_ERR_NOACK
}

/// Refuses keys with a passphrase. OpenSSL's default would ask on the terminal.
private func refusePassphrase(
    _: UnsafeMutablePointer<CChar>?, _: Int32, _: Int32, _: UnsafeMutableRawPointer?
) -> Int32 { 0 }
