import COpenSSL
import Platform

/// The certificates that a client trusts, for TLS 1.2 and 1.3.
///
/// `@unchecked Sendable`: the context is not changed after `init`, and OpenSSL counts its references atomically.
package final class TLSTrust: @unchecked Sendable {
    private let context: OpaquePointer

    /// The system's certificates, read once because that is slow.
    package static let system = Result { () throws(NetworkError) in try TLSTrust() }

    /// - Parameter certificateFile: PEM file of trusted certificates; `nil`: the system's, or those in OpenSSL's
    ///   `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    package init(certificateFile: String? = nil) throws(NetworkError) {
        guard let context = SSL_CTX_new(TLS_client_method()) else { throw .tls("TLS") }
        self.context = context
        guard swift_SSL_CTX_set_min_tls12(context) == 1 else { throw .tls("TLS 1.2") }
        _ = swift_SSL_CTX_set_modes(context)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        if let certificateFile {
            guard SSL_CTX_load_verify_file(context, certificateFile) == 1 else {
                throw .tls("certificate \(certificateFile)")
            }
        } else if SSL_CTX_set_default_verify_paths(context) != 1 {
            throw .tls("the system's certificates")
        }
    }

    deinit { SSL_CTX_free(context) }

    /// A session whose handshake fails unless the peer's certificate is for `host`.
    func session(_ descriptor: Int32, host: String) -> TLSSession? {
        guard let ssl = SSL_new(context) else { return nil }
        let session = TLSSession(ssl: ssl)
        // Certificates have different fields for host names and addresses; SNI allows host names only (RFC 6066).
        let isAddress = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1
        guard SSL_set_fd(ssl, descriptor) == 1,
            isAddress || (SSL_set1_host(ssl, host) == 1 && swift_SSL_set_server_name(ssl, host) == 1)
        else { return nil }
        SSL_set_connect_state(ssl)
        return session
    }
}
