//! Broken ARFF, label XML, CSV and LIBSVM.

use pomdp_fs::data::{Format, Impute, LabelSpec};

use super::{Case, HEAD, case, check};

fn arff(name: &'static str, rows: &str) -> Case {
    case(name, "d.arff", format!("{HEAD}@data\n{rows}"))
}

fn header(name: &'static str, text: &str) -> Case {
    case(name, "d.arff", text)
}

#[test]
fn arff_headers() {
    check(
        "arff_headers",
        vec![
            header("no @data", HEAD),
            header("truncated in an attribute", "@relation r\n@attribute a num"),
            header("no attributes", "@relation r\n@data\n1\n"),
            header("attribute without a name", "@relation r\n@attribute\n@data\n"),
            header("attribute without a type", "@relation r\n@attribute a\n@data\n"),
            header("unknown type", "@relation r\n  @attribute a complex\n@data\n"),
            header(
                "duplicate attribute",
                "@relation r\n@attribute a real\n@attribute a real\n@data\n",
            ),
            header("quote never closed", "@relation r\n@attribute 'a real\n@data\n"),
            header("nominal never closed", "@relation r\n@attribute a {0,1\n@data\n"),
            header("nominal with an empty value", "@relation r\n@attribute a {0,,1}\n@data\n"),
            header("nominal without values", "@relation r\n@attribute a {}\n@data\n"),
            header("nominal value twice", "@relation r\n@attribute a {x,y,x}\n@data\n"),
            header("unknown keyword", "@relation r\n@inputs a\n@data\n"),
            header("rows before @data", "@relation r\n@attribute a real\n1,2\n@data\n"),
            header(
                "nothing says which are labels",
                "@relation r\n@attribute a real\n@attribute b {0,1}\n@data\n1,0\n",
            ),
            header(
                "MEKA count too large",
                "@relation 'r: -C 5'\n@attribute a real\n@attribute b {0,1}\n@data\n1,0\n",
            ),
            header(
                "every column a label",
                "@relation 'r: -C 2'\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n1,0\n",
            ),
            header(
                "label with three values",
                "@relation 'r: -C 1'\n@attribute a {0,1,2}\n@attribute b real\n@data\n1,0\n",
            ),
            header(
                "text attribute",
                "@relation 'r: -C -1'\n@attribute id string\n@attribute b {0,1}\n@data\nx,0\n",
            ),
            header("label named by an option is missing", &format!("{HEAD}@data\n1,x,0\n"))
                .with(|o| o.labels = Some(LabelSpec::Names(vec!["L".to_owned()]))),
            header("ignored column is a label", &format!("{HEAD}@data\n1,x,0\n"))
                .with(|o| o.ignore = vec!["l".to_owned()]),
        ],
    );
}

#[test]
fn arff_rows() {
    check(
        "arff_rows",
        vec![
            arff("no rows", "% nothing\n"),
            arff("too few values", "1,x,0\n1,x\n"),
            arff("too many values", "1,x,0,7\n"),
            arff("empty value", "1,,0\n"),
            arff("trailing comma", "1,x,0,\n"),
            arff("unknown nominal value", "1,x,0\n2,maybe,1\n"),
            arff("text for a number", "1,x,0\n12a,y,1\n"),
            arff("infinite number", "inf,x,0\n"),
            arff("number beyond f64", "1e999,x,0\n"),
            arff("missing feature", "1,x,0\n?,x,0\n"),
            arff("missing label", "1,x,?\n").with(|o| o.impute = Impute::Zero),
            arff("two @data", "1,x,0\n@data\n1,x,0\n"),
            arff("attribute after @data", "1,x,0\n@attribute z real\n"),
            arff("sparse: column out of range", "{0 1, 3 1}\n"),
            arff("sparse: columns out of order", "{1 y, 0 1}\n"),
            arff("sparse: column twice", "{0 1, 0 2}\n"),
            arff("sparse: never closed", "{0 1, 1 y\n"),
            arff("sparse: no value", "{0 1, 1}\n"),
            arff("sparse: no column number", "{x 1}\n"),
            arff("sparse: negative column", "{-1 1}\n"),
            arff("sparse: no comma", "{0 1 1 y}\n"),
            arff("sparse: text behind", "{0 1}, {5}\n"),
            arff("sparse: column number beyond all bounds", "{99999999999999999999 1}\n"),
            arff("quote never closed in a row", "1,'x,0\n"),
            arff("more rows than the memory limit", &"{}\n".repeat(70_000)),
            header(
                "label value 2",
                "@relation 'r: -C -1'\n@attribute a real\n@attribute l numeric\n@data\n1,2\n",
            ),
            arff(
                "a long line is cut around the place",
                &format!("{}1,y,0\n", " ".repeat(200) + "77777,"),
            ),
        ],
    );
}

#[test]
fn label_files() {
    let data = || arff("", "1,x,0\n");
    let xml = |name: &'static str, text: &[u8]| Case { name, ..data().beside("d.xml", text) };
    check("label_files", vec![
        xml("label missing from the ARFF", b"<labels>\n<label name='l'/>\n<label name='m'/>\n</labels>"),
        xml("label spelled in another way", b"<labels><label name='L'/></labels>"),
        xml("not well-formed", b"<labels>\n<label name='l'>\n</labels>"),
        xml("truncated", b"<labels>\n<label name='l'/>"),
        xml("empty", b""),
        xml("another document", b"<?xml version='1.0'?>\n<html><body/></html>"),
        xml("label without a name", b"<labels>\n  <label id='l'/>\n</labels>"),
        xml("label twice", b"<labels>\n<label name='l'/>\n<label name='l'/></labels>"),
        xml("no labels", b"<labels>\n</labels>"),
        xml("bad UTF-8", b"<labels>\n<label name='\xff'/></labels>"),
        xml("entity bomb", b"<!DOCTYPE l [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]>\n<labels><label name='&b;'/></labels>"),
        Case { name: "named label file is not there", ..data() }.with(|o| o.xml = Some("no.xml".into())),
    ]);
}

#[test]
fn csv_files() {
    let csv = |name: &'static str, text: &[u8]| {
        case(name, "d.csv", text).with(|o| o.labels = Some(LabelSpec::Last(1)))
    };
    check(
        "csv_files",
        vec![
            csv("only a header", b"a,b,l\n"),
            csv("too few fields", b"a,b,l\n1,2,1\n1,1\n"),
            csv("too many fields", b"a,b,l\n1,2,1,5\n"),
            csv("text for a number", b"a,b,l\n1,2,1\n1,high,0\n"),
            csv("missing feature", b"a,b,l\n1,,1\n"),
            csv("missing label", b"a,b,l\n1,2,\n3,4,0\n"),
            csv("missing label in words", b"a,b,l\n1,2,NA\n"),
            csv("label in words", b"a,b,l\n1,2,maybe\n"),
            csv("text and dates", b"a,b,l\nx y z,2024-01-01,1\nz,2024-01-02,0\n"),
            csv("two decimal marks", b"a;b;l\n1,5;2;1\n1.5;2;1\n"),
            csv("line after CRLF and blank lines", b"a,b,l\r\n\r\n1,2,1\r\n\r\n1,bad,0\r\n"),
            csv("label value 5", b"a,b,l\n1,2,5\n"),
            csv("name twice", b"a,b,a\n1,2,1\n"),
            csv("empty name, and nothing else", b",l\n1,1\n"),
            csv("no header", b"1,2,1\n3,4,0\n"),
            csv("range beyond the columns", b"a,b,l\n1,2,1\n")
                .with(|o| o.labels = Some(LabelSpec::Range(3, 4))),
            csv("prefix that nothing has", b"a,b,l\n1,2,1\n")
                .with(|o| o.labels = Some(LabelSpec::Prefix("tag".into()))),
            csv("nothing says which are labels", b"a,b,l\n1,2,1\n").with(|o| o.labels = None),
            csv("candidates of another size", b"a,b,c,l\n1,0,1,1\n")
                .with(|o| o.candidates = Some(LabelSpec::First(2))),
            csv("candidates overlap the truth", b"a,b,l\n1,2,1\n")
                .with(|o| o.candidates = Some(LabelSpec::Last(1))),
            csv("marked blocks do not agree", b"a,label:x,candidate:y\n1,1,1\n")
                .with(|o| o.labels = None),
            csv("second file with other rows", b"a,l\n1,1\n2,0\n")
                .beside("c.csv", b"a,l\n1,1\n")
                .with(|o| o.candidates_from = Some("c.csv".into())),
            csv("second file with other labels", b"a,l\n1,1\n")
                .beside("c.csv", b"a,m\n1,1\n")
                .with(|o| o.truth_from = Some("c.csv".into())),
            csv("quote never closed", b"a,b,l\n1,\"2,1\n3,4,0\n"),
        ],
    );
}

#[test]
fn libsvm_files() {
    let svm = |name: &'static str, text: &str| {
        case(name, "d.svm", text).with(|o| o.format = Some(Format::Libsvm))
    };
    check(
        "libsvm_files",
        vec![
            svm("indices out of order", "1 1:1\n1 3:1 2:1\n"),
            svm("index twice", "1 3:1 3:1\n"),
            svm("index is no number", "1 1:1\n2 x:1\n"),
            svm("value is no number", "1 1:one\n"),
            svm("value is not finite", "1 1:nan\n"),
            svm("no colon", "1 1:1 5\n"),
            svm("label is no number", "1,x 1:1\n"),
            svm("negative label", "-1 1:1\n"),
            svm("label with a fraction", "1.5 1:1\n"),
            svm("index beyond all bounds", "1 99999999999:1\n"),
            svm("huge index", "1 4000000000:1\n"),
            svm("huge declared size", "1 99999999999 3\n0 0:1\n"),
            svm("huge declared number of labels", "1 3 99999999999\n0 0:1\n"),
            svm("fewer rows than declared", "3 2 2\n0 0:1\n"),
            svm("feature beyond the declared", "1 2 2\n0 2:1\n"),
            svm("label beyond the declared", "1 2 2\n2 1:1\n"),
            svm("no features", "1\n2\n"),
            svm("no labels", " 1:1\n"),
            svm("only remarks", "# nothing\n"),
            svm("names that are not JSON", "# pomdp-fs {\"features\":\n0 0:1\n"),
            svm(
                "names of an unknown block",
                "# pomdp-fs {\"features\":[\"a\"],\"labels\":[\"b\"],\"block\":\"x\"}\n0 0:1\n",
            ),
        ],
    );
}
