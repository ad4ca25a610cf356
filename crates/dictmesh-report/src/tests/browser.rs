//! The page in a real browser. Skipped, with a message, where there is none.

use super::{sample, Scratch};
use crate::canvas::escape;
use crate::*;
use resvg::tiny_skia::Pixmap;
use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn chromium() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = names.into_iter().find(|name| {
        let mut command = Command::new(name);
        command.arg("--version").stdout(Stdio::null());
        command
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    });
    if found.is_none() {
        eprintln!("skipped: no chromium on this machine to look at the report with");
    }
    found
}

/// Opens a page and does one thing with it (`--screenshot=..`, `--dump-dom`); returns what it prints.
fn open(browser: &str, dir: &Path, page: &Path, flags: &[String]) -> String {
    let printed = dir.join("printed");
    let mut child = Command::new(browser)
        .args("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run".split(' '))
        .args([
            "--disable-background-networking",
            "--disable-component-update",
        ])
        .args([
            "--disable-sync",
            "--hide-scrollbars",
            "--disable-dev-shm-usage",
        ])
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .args(flags)
        .arg(format!("file://{}", page.display()))
        .stdout(File::create(&printed).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() > Duration::from_secs(120) => {
                let _ = child.kill();
                let _ = child.wait();
                panic!("{browser} did not finish in two minutes");
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    assert!(status.success(), "{browser}: {status}");
    fs::read_to_string(&printed).unwrap()
}

/// A page that shows the report in a frame as wide as a phone (headless windows are not that
/// narrow) and writes into its title how wide the content is and what sticks out.
fn on_a_phone(html: &str) -> String {
    format!(
        "<!DOCTYPE html><title>waiting</title><body style=\"margin:0\"><iframe id=\"f\" \
         style=\"border:0;width:390px;height:12000px\" srcdoc=\"{}\"></iframe><script>\
         onload=()=>{{const d=document.getElementById('f').contentDocument;\
         const r=[...d.querySelectorAll('body *:not(svg *)')].filter(e=>!e.closest('.table')&&\
         e.getBoundingClientRect().right>390.5).map(e=>e.tagName);\
         const t=Math.min(...[...d.querySelectorAll('figure svg')].map(e=>\
         e.getBoundingClientRect().width));\
         document.title='width '+d.documentElement.scrollWidth+'; out '+r.join(' ')+'; least '+t}}\
         </script>",
        escape(html)
    )
}

#[test]
fn a_browser_shows_it_on_a_desk_and_on_a_phone() {
    let Some(browser) = chromium() else { return };
    let dir = Scratch::new("browser");
    let page = sample::report().write(&dir.0.join("report")).unwrap();

    let shot = dir.0.join("desk.png");
    let flags = [
        "--window-size=1280,3000".into(),
        format!("--screenshot={}", shot.display()),
    ];
    open(browser, &dir.0, &page, &flags);
    let pixmap = Pixmap::decode_png(&fs::read(&shot).unwrap()).unwrap();
    assert_eq!((pixmap.width(), pixmap.height()), (1280, 3000));
    // Every part of the page has something on it.
    for band in pixmap.pixels().chunks(1280 * 500) {
        let paper = band[0];
        let inked = band.iter().filter(|p| **p != paper).count();
        assert!(inked * 50 > band.len(), "{inked} of {}", band.len());
    }

    let html = fs::read_to_string(&page).unwrap();
    let phone = dir.0.join("phone.html");
    fs::write(&phone, on_a_phone(&html)).unwrap();
    let dom = open(browser, &dir.0, &phone, &["--dump-dom".into()]);
    let title = dom.split("<title>").nth(1).unwrap_or(&dom);
    let title = title.split("</title>").next().unwrap();
    assert!(title.starts_with("width 390; out ; least "), "{title}");

    let pdf = dir.0.join("print.pdf");
    let flags = [
        "--no-pdf-header-footer".into(),
        format!("--print-to-pdf={}", pdf.display()),
    ];
    open(browser, &dir.0, &page, &flags);
    assert!(fs::read(&pdf).unwrap().starts_with(b"%PDF"));
}
