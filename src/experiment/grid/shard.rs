//! A part of a grid: the i-th of n.

use crate::{Error, Result};

/// Shard `number` of `of`, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    /// Everything.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// Whether this is everything.
    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// The items of this shard. Items come sorted by weight; they are dealt to and fro, so that no
    /// shard gets the heavier one of every round.
    pub fn part<T>(self, items: Vec<T>) -> Vec<T> {
        let mine = |at: usize| {
            let (round, place) = (at / self.of, at % self.of);
            let place = if round.is_multiple_of(2) { place } else { self.of - 1 - place };
            place + 1 == self.number
        };
        items.into_iter().enumerate().filter(|(at, _)| mine(*at)).map(|(_, item)| item).collect()
    }
}

impl std::str::FromStr for Shard {
    type Err = Error;

    /// Reads `2/4`.
    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once('/');
        let parts = parts.and_then(|(i, n)| Some((i.trim().parse().ok()?, n.trim().parse().ok()?)));
        match parts {
            Some((number, of)) if 1 <= number && number <= of => Ok(Shard { number, of }),
            _ => Err(Error::config(format!(
                "found the shard '{text}', expected i/n with i from 1 to n, such as 2/4"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_a_partition_and_even() {
        let items: Vec<usize> = (0..23).collect();
        let parts: Vec<Vec<usize>> = (1..=4)
            .map(|i| format!("{i}/4").parse::<Shard>().unwrap().part(items.clone()))
            .collect();
        let mut all = parts.concat();
        all.sort_unstable();
        assert_eq!(all, items);
        assert_eq!(parts[0], [0, 7, 8, 15, 16]);
        let weights = parts.iter().map(|p| p.iter().map(|k| 23 - k).sum::<usize>());
        assert!(weights.clone().max().unwrap() - weights.min().unwrap() <= 8);
        assert_eq!(Shard::WHOLE.part(items.clone()), items);
        for bad in ["0/4", "5/4", "1", "a/b", "", "1/0", "-1/2"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
