//! Certificates for the agents of a run: an authority of its own, and one certificate for each agent's name.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use time::{Duration, OffsetDateTime};
use tokio_rustls::rustls::pki_types::ServerName;

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A file could not be read or written.
    #[error("{}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is no certificate or key of an authority, or a name cannot be in a certificate.
    #[error("{what}: {why}")]
    Refused {
        /// What was given.
        what: String,
        /// Why it does not serve.
        why: String,
    },
}

type Result<T> = std::result::Result<T, CertificateError>;

fn refused(what: impl Into<String>, why: impl ToString) -> CertificateError {
    CertificateError::Refused {
        what: what.into(),
        why: why.to_string(),
    }
}

/// A certificate and its private key, as PEM.
pub struct Credentials {
    /// For everyone.
    pub certificate: String,
    /// For the owner only.
    pub key: String,
}

impl Credentials {
    /// Writes both; the key's file can be read by its owner only, from its first byte on. Files that are there are
    /// not written over.
    pub fn write(&self, certificate: &Path, key: &Path) -> Result<()> {
        let fail = |file: &Path, source| CertificateError::File {
            file: file.to_path_buf(),
            source,
        };
        write_new(key, &self.key, 0o600).map_err(|e| fail(key, e))?;
        write_new(certificate, &self.certificate, 0o644).map_err(|e| {
            // A key without its certificate is of no use, and in the way of the next attempt.
            let _ = fs::remove_file(key);
            fail(certificate, e)
        })
    }
}

fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(mode);
    }
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(path)?;
    let written = (file.write_all(text.as_bytes())).and_then(|()| file.sync_all());
    written.inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// The authority of a run: whoever has its key can make agents of it.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    credentials: Credentials,
}

/// How long certificates are valid, from a day ago, as clocks differ.
const DAYS: i64 = 825;

impl Authority {
    /// A new one for the run of this name.
    pub fn new(run: &str) -> Result<Self> {
        let what = || format!("an authority for the run {run}");
        let key = KeyPair::generate().map_err(|e| refused(what(), e))?;
        let mut params = params(&format!("dictmesh run {run}"), 4 * DAYS);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key);
        let certificate = certificate.map_err(|e| refused(what(), e))?;
        Ok(Authority {
            credentials: Credentials {
                certificate: certificate.pem(),
                key: key.serialize_pem(),
            },
            issuer: Issuer::new(params, key),
        })
    }

    /// One that was written before.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self> {
        let read = |file: &Path| {
            fs::read_to_string(file).map_err(|source| CertificateError::File {
                file: file.to_path_buf(),
                source,
            })
        };
        let credentials = Credentials {
            certificate: read(certificate)?,
            key: read(key)?,
        };
        let shown = |file: &Path| file.display().to_string();
        let pair = KeyPair::from_pem(&credentials.key).map_err(|e| refused(shown(key), e))?;
        let issuer = Issuer::from_ca_cert_pem(&credentials.certificate, pair);
        Ok(Authority {
            issuer: issuer.map_err(|e| refused(shown(certificate), e))?,
            credentials,
        })
    }

    /// Its own certificate and key.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// A certificate for the agent of this name, to dial and to be dialled by.
    pub fn issue(&self, name: &str) -> Result<Credentials> {
        self.issue_for(name, DAYS)
    }

    /// The same, valid for so many days from a day ago.
    pub fn issue_for(&self, name: &str, days: i64) -> Result<Credentials> {
        let what = || format!("a certificate for \"{name}\"");
        if !is_name(name) {
            return Err(refused(
                what(),
                "agents are named like hosts: letters, digits, - and dots, as in agent-1",
            ));
        }
        let mut params = params(name, days);
        let dns = name
            .try_into()
            .map_err(|e: rcgen::Error| refused(what(), e))?;
        params.subject_alt_names = vec![rcgen::SanType::DnsName(dns)];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(|e| refused(what(), e))?;
        let certificate = params.signed_by(&key, &self.issuer);
        let certificate = certificate.map_err(|e| refused(what(), e))?;
        Ok(Credentials {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

/// Whether a certificate can be for this name.
pub fn is_name(name: &str) -> bool {
    matches!(ServerName::try_from(name), Ok(ServerName::DnsName(_)))
}

fn params(common_name: &str, days: i64) -> CertificateParams {
    let mut params = CertificateParams::default();
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    params.distinguished_name = name;
    params.not_before = OffsetDateTime::now_utc() - Duration::DAY;
    params.not_after = params.not_before + Duration::days(days);
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_for_their_owner_and_nothing_is_written_over() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let authority = Authority::new("r").unwrap();
        let files = (at("ca.pem"), at("ca.key"));
        authority.credentials().write(&files.0, &files.1).unwrap();
        let again = Authority::load(&files.0, &files.1).unwrap();
        let agent = again.issue("agent-1").unwrap();
        agent.write(&at("1.pem"), &at("1.key")).unwrap();
        #[cfg(unix)]
        for key in ["ca.key", "1.key"] {
            let about = fs::metadata(at(key)).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::mode(&about.permissions());
            assert_eq!(mode & 0o777, 0o600, "{key}");
        }
        assert!(agent.write(&at("1.pem"), &at("1.key")).is_err());
        // Half of it there: nothing is left of the other half.
        assert!(agent.write(&at("1.pem"), &at("2.key")).is_err());
        assert!(!at("2.key").exists());
        assert!(Authority::load(&at("1.key"), &files.1).is_err());
        assert!(authority.issue("no name").is_err());
        crate::grpc::Tls::load(&files.0, &at("1.pem"), &at("1.key"), "agent-1").unwrap();
    }
}
