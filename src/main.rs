//! The binary: everything happens in the library.

fn main() -> std::process::ExitCode {
    pomdp_fs::cli::main()
}
