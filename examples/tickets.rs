//! A table as people really have it: support tickets as a help desk exports them.
//!
//! `cargo run --release --example tickets` writes `data/tickets.csv` (400 tickets, with tags of which
//! some are wrong) and `data/tickets-new.csv` (30 more, without tags). The README uses these files, and
//! a test compares them with what is made here.

use std::ops::Range;

use pomdp_fs::data::Labels;
use pomdp_fs::linalg::Mat;
use pomdp_fs::rng::Streams;

/// All tags.
pub const TAGS: [&str; 8] =
    ["billing", "delivery", "hardware", "login", "network", "printer", "refund", "software"];
const FEATURES: usize = 30;
const MISSING: [&str; 6] = ["", "NULL", "n/a", "#N/A", "None", "<NA>"];

/// Tickets with what is true of them.
pub struct Tickets {
    x: Mat<f64>,
    /// The tags that are right.
    pub truth: Labels,
    /// Those, and a quarter of all others.
    pub candidates: Labels,
}

impl Tickets {
    /// The first `n` of them.
    pub fn new(n: usize) -> Self {
        let streams = Streams::new(12);
        let (mut numbers, mut noise) = (streams.stream("numbers"), streams.stream("noise"));
        let x = Mat::from_fn(n, FEATURES, |_, _| numbers.normal());
        let truth = Labels::from_fn(n, TAGS.len(), |i, j| x[(i, j)] + 0.5 * x[(i, j + 8)] > 0.6);
        let candidates =
            Labels::from_fn(n, TAGS.len(), |i, j| truth.get(i, j) || noise.bernoulli(0.25));
        Tickets { x, truth, candidates }
    }

    /// The export: an id, a date, a text, a choice, a column without a name, 30 numbers with a decimal
    /// comma and some of them missing, two columns of the same name, and the tags of a ticket joined
    /// in one field, if there are any.
    pub fn csv(&self, rows: Range<usize>, tags: Option<&Labels>) -> String {
        let mut text = "\u{feff}sep=;\r\n# exported from the help desk\r\n".to_owned();
        text += "ticket;opened;subject;channel;;";
        (0..FEATURES).for_each(|j| text += &format!("m{j};"));
        text += if tags.is_some() { "note;note;topics\r\n" } else { "note;note\r\n" };
        for i in rows {
            let subject = match i % 3 {
                0 => format!("\"The customer; number {i},\r\nwrites \"\"again\"\"\""),
                1 => format!("Question no. {i} about the contract"),
                _ => format!("Re: Re: call of {i} minutes"),
            };
            let channel = ["mail", "web", "phone"][i % 3];
            text += &format!("T-{};{}.1.2024;{subject};{channel};{i};", 1000 + i, i % 28 + 1);
            for j in 0..FEATURES {
                text += &match (i + 31 * j) % 97 {
                    k if k < MISSING.len() => MISSING[k].to_owned(),
                    _ => format!("{:.3}", self.x[(i, j)]).replace('.', ","),
                };
                text.push(';');
            }
            text += "see file;-";
            if let Some(tags) = tags {
                let on = (0..TAGS.len()).filter(|&j| tags.get(i, j)).map(|j| TAGS[j]);
                text += &format!(";{}", on.collect::<Vec<_>>().join("|"));
            }
            text += if i % 50 == 49 { "\r\n\r\n" } else { "\r\n" };
        }
        text
    }
}

/// The tables with their names.
pub fn files() -> [(&'static str, String); 2] {
    let all = Tickets::new(430);
    [
        ("data/tickets.csv", all.csv(0..400, Some(&all.candidates))),
        ("data/tickets-new.csv", all.csv(400..430, None)),
    ]
}

#[allow(dead_code, reason = "the tests use the tables alone")]
fn main() -> std::io::Result<()> {
    for (name, text) in files() {
        std::fs::write(name, text)?;
        println!("{name}");
    }
    Ok(())
}
