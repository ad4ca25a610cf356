//! Mutual TLS: who may be at the other end of an edge.

use super::credentials::Files;
use super::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::{ring, CryptoProvider};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// What gRPC is called in the TLS hand-shake.
const ALPN: &[u8] = b"h2";

/// This agent's identity and the one authority it believes.
#[derive(Clone)]
pub struct Tls {
    pub(super) acceptor: TlsAcceptor,
    pub(super) connector: TlsConnector,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // No key in a log.
        f.write_str("Tls")
    }
}

impl Tls {
    /// From PEM files: the authority's certificate, this agent's certificate and its private key. They must belong
    /// together, be those of the agent of this name, and be valid now.
    pub fn load(
        authority: &Path,
        certificate: &Path,
        key: &Path,
        name: &str,
    ) -> Result<Self, Error> {
        for file in [authority, certificate, key] {
            check_regular(file)?;
        }
        let mut roots = RootCertStore::empty();
        for certificate in certificates(authority)? {
            let added = roots.add(certificate);
            added.map_err(|e| Error::credentials(authority, e))?;
        }
        let chain = certificates(certificate)?;
        let private = PrivateKeyDer::from_pem_file(key).map_err(|e| Error::credentials(key, e))?;
        warn_if_open(key);
        let provider = Arc::new(provider());
        let files = Files {
            authority,
            certificate,
            key,
            name,
        };
        files.check(&provider, &roots, &chain, &private, SystemTime::now())?;
        let wrong = |e| Error::credentials(certificate, e);
        let server = server_config(&provider, &roots, &chain, &private).map_err(wrong)?;
        let client = client_config(&provider, roots, chain, private).map_err(wrong)?;
        Ok(Tls {
            acceptor: TlsAcceptor::from(Arc::new(server)),
            connector: TlsConnector::from(Arc::new(client)),
        })
    }
}

/// The suite that TLS 1.3 asks everyone to have comes first: as safe here as the one with longer keys, and faster.
fn provider() -> CryptoProvider {
    use ring::cipher_suite::{
        TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
    };
    CryptoProvider {
        cipher_suites: vec![
            TLS13_AES_128_GCM_SHA256,
            TLS13_AES_256_GCM_SHA384,
            TLS13_CHACHA20_POLY1305_SHA256,
        ],
        ..ring::default_provider()
    }
}

type Made<T> = Result<T, Box<dyn std::error::Error>>;

fn server_config(
    provider: &Arc<CryptoProvider>,
    roots: &RootCertStore,
    chain: &[CertificateDer<'static>],
    key: &PrivateKeyDer<'static>,
) -> Made<ServerConfig> {
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots.clone()), Arc::clone(provider))
            .build()?;
    let mut config = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain.to_vec(), key.clone_key())?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    // A resumed session would not look at the certificate again, which may have expired.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn client_config(
    provider: &Arc<CryptoProvider>,
    roots: RootCertStore,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Made<ClientConfig> {
    let mut config = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let read = CertificateDer::pem_file_iter(path).and_then(|found| found.collect());
    let found: Vec<_> = read.map_err(|e| Error::credentials(path, e))?;
    match found.is_empty() {
        true => Err(Error::credentials(path, "there is no certificate in it")),
        false => Ok(found),
    }
}

/// A pipe would be waited for without end, and without a word.
fn check_regular(file: &Path) -> Result<(), Error> {
    match std::fs::metadata(file) {
        Ok(about) if !about.is_file() => {
            Err(Error::credentials(file, "this is not a regular file"))
        }
        _ => Ok(()), // what else is wrong with it is told when it is read
    }
}

/// A private key that others can read is no longer private; the operator should know.
fn warn_if_open(key: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(key).map(|m| m.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o077 != 0) {
            tracing::warn!(file = %key.display(), "others can read this private key; chmod 600 it");
        }
    }
    #[cfg(not(unix))]
    let _ = key;
}

/// Whether the certificate is for this name (its SAN; a common name does not count).
pub fn is_for(certificate: &CertificateDer<'_>, name: &str) -> bool {
    let (Ok(certificate), Ok(name)) = (
        webpki::EndEntityCert::try_from(certificate),
        ServerName::try_from(name),
    ) else {
        return false;
    };
    certificate.verify_is_valid_for_subject_name(&name).is_ok()
}

/// The names a certificate is for, in words.
pub fn names(certificate: &CertificateDer<'_>) -> String {
    let names: Vec<String> = match webpki::EndEntityCert::try_from(certificate) {
        Ok(certificate) => (certificate.valid_dns_names().take(4))
            .map(super::hello::shown)
            .collect(),
        Err(_) => Vec::new(),
    };
    match names.is_empty() {
        true => "nobody".into(),
        false => names.join(", "),
    }
}
