//! What people get wrong when they set up a mesh. It is named, at the start if one agent can know it, else on both sides.

use crate::common::*;
use bytes::Bytes;
use dictmesh_net::certificates::Credentials;
use dictmesh_net::grpc::{GrpcWire, Tls};
use dictmesh_net::{Wire, WireEvent};
use rcgen::{CertificateParams, Issuer, KeyPair};
use std::time::{Duration, Instant};

/// What is said of files where agent-0's belong; the file at fault is named first.
fn refused(office: &Office, credentials: &Credentials, words: &[&str]) {
    let (certificate, key) = office.files(credentials);
    let loaded = Tls::load(&office.certificate(), &certificate, &key, "agent-0");
    let said = loaded.unwrap_err().to_string();
    let files = [certificate, key].map(|file| file.display().to_string());
    assert!(files.iter().any(|file| said.starts_with(file)), "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
}

#[test]
fn files_that_do_not_belong_together_are_refused_before_anybody_is_dialled() {
    let (office, other) = (Office::new(), Office::new());
    let issue = |office: &Office, name: &str| office.authority.issue(name).unwrap();
    let authority = office.certificate().display().to_string();
    let foreign = issue(&other, "agent-0");
    let words = [
        "not signed by the authority in",
        &authority,
        "from the same one",
    ];
    refused(&office, &foreign, &words);
    let words = [
        "for agent-2, and this agent is agent-0",
        "put agent-0's certificate",
    ];
    refused(&office, &issue(&office, "agent-2"), &words);
    let mixed = Credentials {
        certificate: issue(&office, "agent-0").certificate,
        key: issue(&office, "agent-0").key,
    };
    let words = ["private key does not belong to the certificate in"];
    refused(&office, &mixed, &words);
    let its_own = Credentials {
        certificate: office.authority.credentials().certificate.clone(),
        key: office.authority.credentials().key.clone(),
    };
    refused(&office, &its_own, &["an authority's certificate"]);
    let no_key = Credentials {
        key: "nothing".into(),
        ..issue(&office, "agent-0")
    };
    refused(&office, &no_key, &["mesh init --tls"]);
    assert!(office.agent("agent-0").is_some());
}

#[test]
fn a_certificate_out_of_its_dates_is_refused_with_them() {
    let office = Office::new();
    let old = office.authority.issue_for("agent-0", 0).unwrap();
    let words = ["has expired", "valid from 20", "until 20", "UTC", "clock"];
    refused(&office, &old, &words);
    let own = office.authority.credentials();
    let signs = KeyPair::from_pem(&own.key).unwrap();
    let issuer = Issuer::from_ca_cert_pem(&own.certificate, signs).unwrap();
    let mut params = CertificateParams::new(vec!["agent-0".into()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2100, 2, 3);
    params.not_after = rcgen::date_time_ymd(2101, 3, 4);
    let key = KeyPair::generate().unwrap();
    let early = Credentials {
        certificate: params.signed_by(&key, &issuer).unwrap().pem(),
        key: key.serialize_pem(),
    };
    let words = [
        "not valid yet",
        "from 2100-02-03 00:00 UTC until 2101-03-04 00:00 UTC",
    ];
    refused(&office, &early, &words);
}

/// Agent `dials` dials agent `dials + 1`, and only one of them speaks TLS.
fn mixed(dials: usize, dialler_has_tls: bool, words: [&str; 2]) {
    record();
    let (office, dialled) = (Office::new(), dials + 1);
    let tls = |id: usize, has: bool| has.then(|| office.agent(&name(id)).unwrap());
    let listen = format!("127.0.{dials}.1:0");
    let mut far = settings(dialled, &listen, &[(dials, "127.0.0.1:1".into())]);
    far.tls = tls(dialled, !dialler_has_tls);
    let far = GrpcWire::start(far).unwrap();
    let address = far.address().unwrap().to_string();
    let mut near = settings(dials, "127.0.0.1:0", &[(dialled, address)]);
    near.tls = tls(dials, dialler_has_tls);
    let _near = GrpcWire::start(near).unwrap();
    let neighbour = format!("neighbour={dialled} ");
    logged(&["no link", &neighbour, words[0], "[tls]"]);
    logged(&["refused: it speaks", words[1], "[tls]"]);
    let others = lines(&["no link", &neighbour]) - lines(&["no link", &neighbour, words[0]]);
    assert_eq!(others, 0, "the dialler has said something else too");
}

#[test]
fn a_dialler_without_tls_and_a_listener_with_it_are_named_on_both_sides() {
    let words = [
        "agent 61 speaks TLS, and this agent plain text",
        "plain text, and this agent TLS",
    ];
    mixed(60, false, words);
}

#[test]
fn a_dialler_with_tls_and_a_listener_without_it_are_named_on_both_sides() {
    let words = [
        "agent 63 speaks plain text, and this agent TLS",
        "TLS, and this agent plain text",
    ];
    mixed(62, true, words);
}

/// An agent's files were copied, and both copies run: one of them is told so, the other goes on. So it is when the one that
/// was told ends, and a supervisor starts it again at once.
#[test]
fn an_agent_that_runs_twice_is_told_so_and_only_one_goes_on() {
    record();
    let dialled = settings(65, "127.0.65.1:0", &[(64, "127.0.0.1:1".into())]);
    let mut far = GrpcWire::start(dialled).unwrap();
    let address = far.address().unwrap().to_string();
    let copy = |incarnation| {
        let mut settings = settings(64, "127.0.0.1:0", &[(65, address.clone())]);
        settings.incarnation = incarnation;
        GrpcWire::start(settings).unwrap()
    };
    let mut first = copy(1);
    up(&mut first, 65);
    assert_eq!(up(&mut far, 64).0, 1);
    for incarnation in 2..5 {
        let mut other = copy(incarnation);
        let refused = || {
            lines(&[
                "WARN",
                "refused",
                "peer=127.",
                "agent 64 runs twice",
                "times=2",
            ])
        };
        let (before, until) = (refused(), Instant::now() + PATIENCE);
        let mut told = Vec::new();
        // The second time that it is refused is known to be the same as the first: nobody is told of it again.
        while told.is_empty() || refused() == before {
            assert!(Instant::now() < until, "told: {told:?}");
            let soon = || Instant::now() + Duration::from_millis(5);
            while far.next(soon()).is_some() {}
            while let Some(event) = first.next(soon()) {
                assert!(!matches!(event, WireEvent::Twin { .. }), "the first stays");
            }
            if let Some(WireEvent::Twin { neighbour, reason }) = other.next(soon()) {
                told.push((neighbour, reason));
            }
        }
        let [(65, why)] = &told[..] else {
            panic!("{told:?}");
        };
        assert!(
            why.contains("agent 64 runs twice") && why.contains("End one of them"),
            "{why}"
        );
    }
    let said = Bytes::from_static(b"still there");
    let until = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < until, "the first has no link");
        first.send(65, said.clone());
        first.flush();
        let heard = far.next(Instant::now() + Duration::from_millis(20));
        if matches!(heard, Some(WireEvent::Frame { bytes, .. }) if bytes == said) {
            break;
        }
    }
}
