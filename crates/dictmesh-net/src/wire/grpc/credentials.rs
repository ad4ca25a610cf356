//! This agent's own certificate and key, looked at before anybody else does: what its neighbours would refuse, each in
//! other words and again and again, is said once, at the start, with what to do.

use super::{tls, Error};
use std::path::Path;
use std::time::{Duration, SystemTime};
use time::OffsetDateTime;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, InconsistentKeys, RootCertStore};
use webpki::{EndEntityCert, KeyUsage};
use x509_parser::parse_x509_certificate;

/// Where an agent's files are, and whose they should be.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    pub authority: &'a Path,
    pub certificate: &'a Path,
    pub key: &'a Path,
    /// The agent's name in its settings.
    pub name: &'a str,
}

impl Files<'_> {
    /// Whether neighbours can take this agent for who it is at this time.
    pub fn check(
        &self,
        provider: &CryptoProvider,
        roots: &RootCertStore,
        chain: &[CertificateDer<'static>],
        key: &PrivateKeyDer<'static>,
        now: SystemTime,
    ) -> Result<(), Error> {
        let Some((own, between)) = chain.split_first() else {
            return Err(Error::credentials(
                self.certificate,
                "there is no certificate in it",
            ));
        };
        let now = now.duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or(Duration::ZERO);
        self.check_dates(own, now)?;
        self.check_signature(provider, roots, own, between, now)?;
        self.check_name(own)?;
        self.check_key(provider, chain, key)
    }

    fn check_dates(&self, own: &CertificateDer<'_>, now: Duration) -> Result<(), Error> {
        let parsed = parse_x509_certificate(own);
        let (_, parsed) = parsed.map_err(|e| Error::credentials(self.certificate, e))?;
        let (from, until) = (parsed.validity().not_before, parsed.validity().not_after);
        let (from, until, now) = (from.timestamp(), until.timestamp(), now.as_secs() as i64);
        let (state, advice) = match () {
            () if now > until => ("has expired", "give"),
            () if now < from => ("is not valid yet", "correct the clock, or give"),
            () => return Ok(()),
        };
        let [from, until, now] = [from, until, now].map(date);
        Err(self.unfit(
            self.certificate,
            format!(
                "this certificate {state}: it is valid from {from} until {until}, and by this host's clock it is {now}; \
                 {advice} {} a new one of the same authority",
                self.name
            ),
        ))
    }

    fn check_signature(
        &self,
        provider: &CryptoProvider,
        roots: &RootCertStore,
        own: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        now: Duration,
    ) -> Result<(), Error> {
        let parsed = EndEntityCert::try_from(own);
        let parsed = parsed.map_err(|e| Error::credentials(self.certificate, e))?;
        // An agent dials and is dialled.
        for usage in [KeyUsage::client_auth(), KeyUsage::server_auth()] {
            let verified = parsed.verify_for_usage(
                provider.signature_verification_algorithms.all,
                &roots.roots,
                between,
                UnixTime::since_unix_epoch(now),
                usage,
                None,
                None,
            );
            verified.map_err(|e| self.unfit(self.certificate, self.unsigned(&e)))?;
        }
        Ok(())
    }

    fn unsigned(&self, why: &webpki::Error) -> String {
        use webpki::Error as E;
        let (name, authority) = (self.name, self.authority.display());
        match why {
            E::UnknownIssuer | E::InvalidSignatureForPublicKey => format!(
                "this certificate was not signed by the authority in {authority} (another `dictmesh mesh init --tls` \
                 makes another authority, of the same name); take {name}'s certificate, its key and the authority's \
                 certificate from the same one"
            ),
            E::CaUsedAsEndEntity => format!(
                "this is an authority's certificate and not an agent's; put {name}'s own there"
            ),
            why => format!(
                "this certificate cannot be an agent's of the authority in {authority}: {why}; put {name}'s there, as \
                 `dictmesh mesh init --tls` writes it"
            ),
        }
    }

    fn check_name(&self, own: &CertificateDer<'_>) -> Result<(), Error> {
        let name = self.name;
        if tls::is_for(own, name) {
            return Ok(());
        }
        let why = format!(
            "this certificate is for {}, and this agent is {name}; put {name}'s certificate and key there, or correct \
             the agent's name and id in its settings",
            tls::names(own)
        );
        Err(self.unfit(self.certificate, why))
    }

    fn check_key(
        &self,
        provider: &CryptoProvider,
        chain: &[CertificateDer<'static>],
        key: &PrivateKeyDer<'static>,
    ) -> Result<(), Error> {
        let loaded = provider.key_provider.load_private_key(key.clone_key());
        let loaded = loaded.map_err(|e| Error::credentials(self.key, e))?;
        match CertifiedKey::new(chain.to_vec(), loaded).keys_match() {
            // Of some keys the public half cannot be had: rustls takes them too, and a hand-shake shows it.
            Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(()),
            Err(rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
                let (name, certificate) = (self.name, self.certificate.display());
                let why = format!(
                    "this private key does not belong to the certificate in {certificate}; the two are made together: \
                     put both of {name}'s there"
                );
                Err(self.unfit(self.key, why))
            }
            Err(e) => Err(Error::credentials(self.key, e)),
        }
    }

    fn unfit(&self, file: &Path, why: String) -> Error {
        Error::Credentials {
            file: file.to_path_buf(),
            why,
        }
    }
}

/// A time in seconds since 1970 as people write it.
fn date(seconds: i64) -> String {
    match OffsetDateTime::from_unix_timestamp(seconds) {
        Ok(t) => format!(
            "{}-{:02}-{:02} {:02}:{:02} UTC",
            t.year(),
            u8::from(t.month()),
            t.day(),
            t.hour(),
            t.minute()
        ),
        Err(_) => format!("{seconds} s after 1970"),
    }
}
