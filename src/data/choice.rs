//! Options with a fixed list of names: from a word to its variant and back.

/// Gives an enum without fields `ALL`, `name`, `FromStr` and, on the command line, its list of
/// values, all from one list of names.
macro_rules! choice {
    ($type:ident { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $type {
            /// All of them.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+];

            /// Name on the command line and in files.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name),+
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = crate::Error;
            fn from_str(text: &str) -> crate::Result<Self> {
                Self::ALL.into_iter().find(|c| c.name() == text).ok_or_else(|| {
                    let names = [$($name),+].join(", ");
                    crate::Error::config(format!("found '{text}', expected {names}"))
                })
            }
        }

        #[cfg(feature = "cli")]
        impl clap::ValueEnum for $type {
            fn value_variants<'a>() -> &'a [Self] {
                &Self::ALL
            }

            fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
                Some(clap::builder::PossibleValue::new(self.name()))
            }
        }
    };
}

pub(crate) use choice;
