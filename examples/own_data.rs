//! Your own table: read it, clean its labels, rank its features, and label new rows.
//!
//! `cargo run --release --example own_data` makes a small table of support tickets with candidate
//! tags; `cargo run --release --example own_data -- mine.csv tag_` reads yours, whose label columns
//! begin with `tag_`.

use pomdp_fs::prelude::*;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (file, prefix) = match (arguments.next(), arguments.next()) {
        (Some(file), prefix) => (file.into(), prefix.unwrap_or_else(|| "tag_".into())),
        (None, _) => (tickets()?, "tag_".to_owned()),
    };

    // The labels are candidates: the true ones and some that are wrong.
    let options = ReadOptions {
        labels: Some(format!("prefix:{prefix}").parse()?),
        role: Some(Role::Candidates),
        ..ReadOptions::default()
    };
    let data = load(&file, &options)?;
    println!("{} rows, {} features, {} labels", data.n(), data.d(), data.labels());

    // Same data, settings and seed: same bits. 30 % of the features are selected.
    let selection = fit(&data, &Config::default(), Budget::Percent(30.0), 0)?;
    let fitted = &selection.outcome.fitted;
    for &feature in selection.selected() {
        println!("selected: {}", data.feature_names[feature]);
    }
    if let (Some(clean), Some(candidates)) = (&fitted.pseudo, &data.candidates) {
        println!("{} of {} candidate labels were kept", clean.count(), candidates.count());
    }

    // The model labels rows that it has not seen; `save` and `Model::load` keep it in a folder.
    let model = selection.model();
    let new_rows = data.x.select_rows(&[0, 1]);
    let p = model.score(&new_rows)?;
    for (j, label) in data.label_names.iter().enumerate() {
        println!("{label}: probability {:.2} and {:.2}", p[(0, j)], p[(1, j)]);
    }
    Ok(())
}

/// Ten word counts per ticket. Words 0 to 2 cause the three tags; a quarter of the other tags is
/// there by mistake.
fn tickets() -> Result<std::path::PathBuf> {
    let mut rng = Streams::new(1).stream("tickets");
    let mut text: String = (0..10).map(|j| format!("word{j},")).collect();
    text += "tag_billing,tag_login,tag_crash\n";
    for _ in 0..300 {
        let words: Vec<usize> = (0..10).map(|_| rng.below(6)).collect();
        let tags = words[..3].iter().map(|&w| w > 3 || rng.bernoulli(0.25));
        let tags: Vec<String> = tags.map(|on| u8::from(on).to_string()).collect();
        let words: Vec<String> = words.iter().map(usize::to_string).collect();
        text += &format!("{},{}\n", words.join(","), tags.join(","));
    }
    let file = std::env::temp_dir().join(format!("tickets-{}.csv", std::process::id()));
    pomdp_fs::io::write_atomic(&file, text.as_bytes())?;
    Ok(file)
}
