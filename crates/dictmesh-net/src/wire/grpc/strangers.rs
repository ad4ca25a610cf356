//! Limits for those who are not known yet, and the log of those who were refused.

use super::lines::Lines;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Connections without a hand-shake at the same time.
#[derive(Debug)]
pub struct Waiting {
    /// In all, and from one address: one host that floods must not keep the neighbours at other hosts out.
    most: usize,
    most_of_one: usize,
    count: Mutex<HashMap<IpAddr, usize>>,
}

/// One of the connections that may wait; dropped, it makes room.
#[derive(Debug)]
pub struct Slot {
    waiting: Arc<Waiting>,
    address: IpAddr,
}

impl Waiting {
    /// So many that all neighbours of an agent can come at once from one host, and again before the first
    /// attempt has timed out.
    pub fn new(neighbours: usize) -> Self {
        Waiting {
            most: 128 + 2 * neighbours,
            most_of_one: 16 + 2 * neighbours,
            count: Mutex::default(),
        }
    }

    fn count(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.count.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Room for one more, or why there is none.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Result<Slot, String> {
        let mut count = self.count();
        let all: usize = count.values().sum();
        let of_one = count.entry(address).or_default();
        if *of_one >= self.most_of_one {
            return Err(format!(
                "{of_one} connections of this address wait for a hand-shake already"
            ));
        }
        if all >= self.most {
            if *of_one == 0 {
                count.remove(&address);
            }
            return Err(format!("{all} connections wait for a hand-shake already"));
        }
        *of_one += 1;
        Ok(Slot {
            waiting: Arc::clone(self),
            address,
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut count = self.waiting.count();
        if let Some(left) = count.get_mut(&self.address) {
            *left -= 1;
            if *left == 0 {
                count.remove(&self.address);
            }
        }
    }
}

/// Refusals that are known again when they are repeated,
const KNOWN: usize = 64;
/// within so long after the last.
const REMEMBERED: Duration = Duration::from_secs(60);

/// Says in the log who was refused and why, 20 times a second at most.
#[derive(Debug)]
pub struct Refusals {
    lines: Lines,
    /// How often each of the last few was refused, and when last.
    known: Mutex<HashMap<Refused, (u64, Instant)>>,
}

/// So often the same is told of, as a few strangers may share an address,
const EACH: u64 = 4;

/// and then ever more seldom: a neighbour with wrong settings tries again every 2 s.
fn is_told(times: u64) -> bool {
    times <= EACH || times.is_power_of_two()
}

/// Who, with which names in its certificate, and why.
type Refused = (IpAddr, Option<String>, String);

impl Refusals {
    pub fn new() -> Self {
        Refusals {
            lines: Lines::new(20, Duration::from_secs(1)),
            known: Mutex::default(),
        }
    }

    pub fn log(&self, peer: SocketAddr, certificate: Option<String>, why: &str) {
        let times = self.times((peer.ip(), certificate.clone(), why.to_string()));
        if !is_told(times) {
            return;
        }
        let Some(hidden) = self.lines.next() else {
            return;
        };
        if hidden > 0 {
            tracing::warn!(count = hidden, "refused more connections than are shown");
        }
        match certificate {
            Some(names) => tracing::warn!(%peer, certificate = %names, times, "refused: {why}"),
            None => tracing::warn!(%peer, times, "refused: {why}"),
        }
    }

    /// How often the same was refused, as far as is known.
    fn times(&self, refused: Refused) -> u64 {
        let mut known = self.known.lock().unwrap_or_else(|e| e.into_inner());
        if known.len() >= KNOWN {
            known.clear();
        }
        let now = Instant::now();
        let (times, last) = known.entry(refused).or_insert((0, now));
        if last.elapsed() > REMEMBERED {
            *times = 0;
        }
        (*times, *last) = (*times + 1, now);
        *times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_cannot_take_all_places_and_leaving_makes_room() {
        let waiting = Arc::new(Waiting::new(2));
        let address = |n: u8| IpAddr::from([127, 0, 0, n]);
        let mut slots = Vec::new();
        for _ in 0..waiting.most_of_one {
            slots.push(waiting.enter(address(9)).unwrap());
        }
        assert!(waiting
            .enter(address(9))
            .unwrap_err()
            .contains("this address"));
        let other = waiting.enter(address(2)).unwrap();
        slots.pop();
        slots.push(waiting.enter(address(9)).unwrap());
        drop((slots, other));
        assert!(waiting.count().is_empty());
        // From very many hosts: a limit too, and no memory of those refused.
        let far = |n: usize| IpAddr::from([10, 0, (n >> 8) as u8, n as u8]);
        let slots: Vec<_> = (0..1000).map(|n| waiting.enter(far(n))).collect();
        assert_eq!(slots.iter().flatten().count(), waiting.most);
        assert_eq!(waiting.count().len(), waiting.most);
    }

    #[test]
    fn who_tries_again_and_again_is_told_of_ever_more_seldom() {
        let refusals = Refusals::new();
        let who = |n: u8| (IpAddr::from([10, 0, 0, n]), None, "no TLS".to_string());
        let told = (0..100).map(|_| refusals.times(who(1)));
        let told: Vec<u64> = told.filter(|times| is_told(*times)).collect();
        assert_eq!(told, [1, 2, 3, 4, 8, 16, 32, 64]);
        assert!(is_told(refusals.times(who(2))));
    }
}
