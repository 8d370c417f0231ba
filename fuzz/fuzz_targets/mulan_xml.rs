//! The label file of a small ARFF.
#![no_main]
mod common;

const ARFF: &[u8] = b"\0@relation r\n@attribute a numeric\n@attribute b {0,1}\n@attribute 'it\\'s' {0,1}\n@data\n1,0,1\n";

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    common::read(ARFF, Some(data), Some(pomdp_fs::data::Format::Arff));
});
