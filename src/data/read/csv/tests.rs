use super::*;
use crate::Remedy;
use crate::data::read::options::{Impute, LabelSpec, Needed};

fn options(labels: usize) -> ReadOptions {
    ReadOptions { labels: Some(LabelSpec::Last(labels)), ..ReadOptions::default() }
}

fn error(text: &str, options: &ReadOptions) -> crate::Error {
    read(text.as_bytes(), options).err().unwrap()
}

#[test]
fn separators_quotes_and_words() {
    for (text, kind) in [
        ("\"a,1\",b,l\r\n1,2,1\r\n3,4e1,no\r\n", "commas"),
        ("\u{feff}\"a,1\"\tb\tl\n1\t2\ttrue\n3\t 40 \t-1", "tabs"),
        ("\"a,1\";b;l\n1;2;yes\n3;40;0\n", "semicolons"),
        ("sep=;\r\n\"a,1\";b;l\r\n1;2;Y\r\n3;40;N\r\n", "semicolons"),
        ("# made by hand, today\n\n\"a,1\";b;l\n1;2;T\n# a break\n3;40;F\n", "semicolons"),
        ("\"a,1\";b;l\n1;2;x\n;;\n3;40;\n", "semicolons"),
    ] {
        let p = read(text.as_bytes(), &options(1)).unwrap();
        assert_eq!(p.feature_names, ["a,1", "b"], "{text}");
        assert_eq!(p.matrices.x.as_slice(), [1.0, 2.0, 3.0, 40.0]);
        assert_eq!(p.matrices.truth.unwrap().as_slice(), [true, false]);
        assert!(p.format.ends_with(kind), "{}", p.format);
    }
}

#[test]
fn names_in_a_comment_are_names_only_before_numbers() {
    let p = read("#a,b,l\n1,2,1\n".as_bytes(), &options(1)).unwrap();
    assert_eq!((p.feature_names.join(" "), p.label_names.join(" ")), ("a b".into(), "l".into()));
    let p = read("# two, words\na,l\n1,1\n#7,0\n".as_bytes(), &options(1));
    // '#7' is no number, but it stands where a row stands.
    assert!(p.err().unwrap().to_string().contains("'#7'"));
}

/// A counter that has no name, then one that is called '#': no comment, though blanks come first.
#[test]
fn a_number_sign_in_the_second_column_is_a_name() {
    let p = read("\t#\ta\tl\n0\t1\t2\t1\n1\t2\t3\t0\n".as_bytes(), &options(1)).unwrap();
    assert_eq!(p.feature_names, ["#", "a"]);
    let e = error("\t#\t\tx\n1\t2\t3\t4\t\n", &options(1));
    assert!(e.to_string().contains("found 5 fields, expected 4 as in the first line"), "{e}");
}

/// Spreadsheets end every line with a separator.
#[test]
fn the_last_columns_are_the_last_that_have_a_name() {
    let text = "a,b,l,m,,\n1,2,1,0,,\n2,3,0,1,,\n";
    let p = read(text.as_bytes(), &options(2)).unwrap();
    assert_eq!((p.feature_names.join(" "), p.label_names.join(" ")), ("a b".into(), "l m".into()));
    let chosen = ReadOptions { labels: Some(LabelSpec::Range(5, 6)), ..ReadOptions::default() };
    let p = read(text.as_bytes(), &chosen).unwrap();
    assert_eq!(p.label_names, ["column5", "column6"], "chosen by number, they are what was chosen");
}

#[test]
fn numbers_that_are_not_read_are_no_words() {
    for (text, found) in [
        ("a,b,l\n1,inf,1\n2,1e999,0\n", "'inf'"),
        ("a,b,l\n1,\"1,234\",1\n2,\"-2,345.5\",0\n", "'1,234'"),
        ("a;b;l\n1;1.234,5;1\n2;12.345.678;0\n", "'1.234,5'"),
    ] {
        let e = error(text, &options(1));
        assert!(
            e.to_string().contains(&format!("column 'b': found {found}, expected a finite number")),
            "{e}"
        );
        assert_eq!(e.position().0, Some(2));
    }
}

#[test]
fn decimal_commas_with_other_separators() {
    let p = read("a;b;l\n1,5;2;1\n-0,25;3;0\n".as_bytes(), &options(1)).unwrap();
    assert_eq!(p.matrices.x.as_slice(), [1.5, 2.0, -0.25, 3.0]);
    assert!(p.notes.join("\n").contains("decimal comma: '1,5' is read as 1.5"), "{:?}", p.notes);
    let e = error("a;b;l\n1,5;2;1\n1.234;3;0\n", &options(1));
    assert!(e.to_string().contains("'1,5' in line 2 and '1.234' in line 3"), "{e}");
    assert_eq!(e.position(), (Some(3), Some(1)));
}

#[test]
fn no_header_only_when_told() {
    let text = "1,2,1\n3,4,0\n";
    assert_eq!(error(text, &options(1)).what_to_do().1, Some(&Remedy::Header));
    let told = ReadOptions { header: false, ..options(1) };
    let p = read(text.as_bytes(), &told).unwrap();
    assert_eq!(p.matrices.x.rows(), 2);
    assert_eq!(p.label_names, ["column3"]);
    assert!(p.numbered_features);
    // The same names in the file itself are names.
    let named = read("column1,column2,l\n1,2,1\n".as_bytes(), &options(1)).unwrap();
    assert!(!named.numbered_features);
}

#[test]
fn missing_values_and_their_place() {
    let text = "a,b,l\r\n1,,1\r\n\r\n3,NA,0\r\n5,6,1\r\n";
    assert_eq!(error(text, &options(1)).position(), (Some(2), Some(3)));
    let wrong = "a,b,l\r\n\r\n1,2,1\r\n\r\n3,bad,0\r\n5,6,1\r\n";
    assert_eq!(error(wrong, &options(1)).position(), (Some(5), Some(3)), "CRLF and blank lines");
    let zero = ReadOptions { impute: Impute::Zero, ..options(1) };
    assert_eq!(read(text.as_bytes(), &zero).unwrap().matrices.x[(1, 1)], 0.0);
}

/// A table of every kind of column, of which only `size` is a feature as it stands.
fn messy(rows: usize) -> String {
    let mut text = "id,opened,subject,channel,size,load,tags\n".to_owned();
    for i in 0..rows {
        let channel = ["mail", "web", "phone"][i % 3];
        let load = if i % 7 == 3 { "NULL".to_owned() } else { format!("{}", i % 5) };
        let tags = ["billing|login", "login", "", "refund|billing"][i % 4];
        text += &format!(
            "T-{i},2024-01-{:02},the customer has {i} questions,{channel},{}.5,{load},{tags}\n",
            i % 28 + 1,
            (i * 7) % 40
        );
    }
    text
}

#[test]
fn all_columns_in_trouble_are_told_at_once() {
    let labels = Some(LabelSpec::Tags("tags".to_owned()));
    let plain = ReadOptions { labels: labels.clone(), ..ReadOptions::default() };
    let e = error(&messy(60), &plain);
    let text = e.to_string();
    assert!(text.contains("5 columns that cannot be used"), "{text}");
    for part in [
        "'id': a different value in each row",
        "'opened': dates",
        "'subject': text",
        "'channel': 3 different words",
        "'load': numbers, 9 missing, first in line 5",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let Some(Remedy::Columns(changes)) = e.what_to_do().1 else { panic!("{e}") };
    assert_eq!(changes.id.as_deref(), Some("id"));
    assert_eq!(
        (&changes.ignore[..], &changes.one_hot[..]),
        (&["opened".to_owned(), "subject".to_owned()][..], &["channel".to_owned()][..])
    );
    assert!(changes.impute);
    // What it asks for is enough.
    let told = ReadOptions {
        labels,
        id: changes.id.clone(),
        ignore: changes.ignore.clone(),
        one_hot: changes.one_hot.clone(),
        impute: Impute::Mean,
        ..ReadOptions::default()
    };
    let p = read(messy(60).as_bytes(), &told).unwrap();
    assert_eq!(p.feature_names, ["size", "load", "channel=mail", "channel=phone", "channel=web"]);
    assert_eq!(p.label_names, ["billing", "login", "refund"]);
    let y = p.matrices.truth.unwrap();
    assert_eq!(
        (y.row(0), y.row(2), y.row(3)),
        (&[true, true, false][..], &[false; 3][..], &[true, false, true][..])
    );
    assert_eq!(p.matrices.x.row(1)[2..], [0.0, 0.0, 1.0], "web");
    assert_eq!(p.matrices.words.ids.unwrap().values[7], "T-7");
}

#[test]
fn marks_and_blanks_are_labels_only_without_a_written_no() {
    let two = options(2);
    let p = read("a,l,m\n1,x,\n2,,X\n".as_bytes(), &two).unwrap();
    assert_eq!(p.matrices.truth.unwrap().as_slice(), [true, false, false, true]);
    assert!(p.notes.join("\n").contains("2 blank labels are read as no"));
    let e = error("a,l,m\n1,1,0\n2,,1\n", &two);
    assert!(e.to_string().contains("a missing label"), "{e}");
    assert_eq!(e.position(), (Some(3), Some(3)));
    assert!(error("a,l,m\n1,1,NA\n", &two).to_string().contains("a missing label"));
    let e = error("a,l\n1,billing|login\n", &options(1));
    assert_eq!(e.what_to_do().1, Some(&Remedy::Tags("l".to_owned())), "{e}");
}

#[test]
fn names_may_repeat_where_they_are_left_out() {
    let text = "a,note,note,,l\n1,x,y,7,1\n2,x,y,8,0\n";
    assert!(
        error(text, &options(1)).to_string().contains("columns 2 and 3 are both called 'note'")
    );
    let told = ReadOptions { ignore: vec!["note".to_owned()], ..options(1) };
    let p = read(text.as_bytes(), &told).unwrap();
    assert_eq!(p.feature_names, ["a"], "a column without a name is left out");
    assert!(p.notes.join("\n").contains("columns without a name are left out: 4"));
}

#[test]
fn a_model_says_which_columns_count() {
    let needed = Needed {
        features: vec!["size".to_owned(), "channel=mail".to_owned(), "channel=fax".to_owned()],
        numbered: false,
        labels: vec!["login".to_owned(), "other".to_owned()],
        one_hot: [("channel".to_owned(), vec!["fax".to_owned(), "mail".to_owned()])].into(),
        id: Some("id".to_owned()),
        tags: Some("tags".to_owned()),
        means: [("size".to_owned(), 9.0)].into(),
    };
    let options =
        ReadOptions { needed: Some(needed), impute: Impute::Mean, ..ReadOptions::default() };
    let text = messy(8).replace("0.5,", ",");
    let p = read(text.as_bytes(), &options).unwrap();
    assert_eq!(p.feature_names, ["size", "channel=fax", "channel=mail"]);
    assert_eq!(p.matrices.x.row(0), [9.0, 0.0, 1.0], "the model's mean, the model's words");
    assert_eq!(p.label_names, ["login", "other"]);
    let notes = p.notes.join("\n");
    assert!(notes.contains("2 tags are no labels of the model"), "{notes}");
    assert!(notes.contains("rows have a word that the model does not know"), "{notes}");
}

#[test]
fn ids_in_disguise_are_noticed() {
    let rows: String = (0..30).map(|i| format!("{},{},1\n", 5000 + i, (i * 7) % 11)).collect();
    let p = read(format!("nr,a,l\n{rows}").as_bytes(), &options(1)).unwrap();
    assert!(p.notes.join("\n").contains("feature 'nr' rises from row to row"), "{:?}", p.notes);
    assert!(!p.notes.join("\n").contains("feature 'a'"));
}
