//! Named arrays of numbers as one safetensors file: the one place that packs and unpacks them.

use std::collections::HashMap;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::num::{Real, little_endian};
use crate::{Error, Result};

/// Arrays on their way into a file.
#[derive(Default)]
pub(crate) struct Packer {
    arrays: Vec<(String, Dtype, Vec<usize>, Vec<u8>)>,
}

impl Packer {
    /// Adds an array, row after row.
    pub fn put<T: Real>(&mut self, name: impl Into<String>, shape: &[usize], values: &[T]) {
        self.arrays.push((name.into(), dtype::<T>(), shape.to_vec(), little_endian(values)));
    }

    /// The file; `note` is a text that goes with the arrays, by its name.
    pub fn pack(&self, note: Option<(&str, String)>) -> Result<Vec<u8>> {
        let broken = |e| Error::numeric(format!("cannot pack the arrays: {e}"));
        let mut views = Vec::with_capacity(self.arrays.len());
        for (name, dtype, shape, bytes) in &self.arrays {
            let view = TensorView::new(*dtype, shape.clone(), bytes).map_err(broken)?;
            views.push((name.as_str(), view));
        }
        let metadata = note.map(|(name, text)| HashMap::from([(name.to_owned(), text)]));
        safetensors::serialize(views, metadata).map_err(broken)
    }
}

/// The arrays of a file.
pub(crate) struct Unpacked<'a> {
    tensors: SafeTensors<'a>,
    notes: HashMap<String, String>,
}

impl<'a> Unpacked<'a> {
    /// Looks at a whole file.
    pub fn new(file: &'a [u8]) -> Result<Self> {
        let (_, header) = SafeTensors::read_metadata(file).map_err(unreadable)?;
        let tensors = SafeTensors::deserialize(file).map_err(unreadable)?;
        Ok(Unpacked { tensors, notes: header.metadata().clone().unwrap_or_default() })
    }

    /// The text called `name`.
    pub fn note(&self, name: &str) -> Result<&str> {
        let found = self.notes.get(name).map(String::as_str);
        found.ok_or_else(|| Error::input(format!("the file has no text '{name}'")))
    }

    /// The array called `name`, whatever its shape.
    pub fn get<T: Real>(&self, name: &str) -> Result<Vec<T>> {
        let shape = self.tensors.tensor(name).map_err(unreadable)?.shape().to_vec();
        self.get_shaped(name, &shape)
    }

    /// The array called `name`, which must have this shape.
    pub fn get_shaped<T: Real>(&self, name: &str, shape: &[usize]) -> Result<Vec<T>> {
        let tensor = self.tensors.tensor(name).map_err(unreadable)?;
        let expected = dtype::<T>();
        if tensor.dtype() != expected || tensor.shape() != shape {
            let found =
                format!("'{name}' of type {} and shape {:?}", tensor.dtype(), tensor.shape());
            return Err(Error::found(found, format!("{expected} and {shape:?}")));
        }
        let number = |b: &[u8]| match b.try_into() {
            Ok(four) => T::from_f64(f64::from(f32::from_le_bytes(four))),
            Err(_) => T::from_f64(f64::from_le_bytes(b.try_into().expect("4 or 8 bytes"))),
        };
        Ok(tensor.data().chunks_exact(T::BYTES).map(number).collect())
    }
}

fn dtype<T: Real>() -> Dtype {
    if T::BYTES == 4 { Dtype::F32 } else { Dtype::F64 }
}

fn unreadable(e: safetensors::SafeTensorError) -> Error {
    Error::input(format!("the arrays cannot be read: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_and_text_survive() {
        let (singles, doubles) = ([1.5f32, -0.0, 1e-40], [0.1f64, f64::MAX]);
        let mut packer = Packer::default();
        packer.put("singles", &[3, 1], &singles);
        packer.put("doubles", &[2], &doubles);
        packer.put::<f32>("nothing", &[0, 4], &[]);
        let file = packer.pack(Some(("about", "text".into()))).unwrap();
        let read = Unpacked::new(&file).unwrap();
        let bits = |v: Vec<f32>| v.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(read.get("singles").unwrap()), bits(singles.to_vec()));
        assert_eq!(read.get_shaped::<f64>("doubles", &[2]).unwrap(), doubles);
        assert!(read.get::<f32>("nothing").unwrap().is_empty());
        assert_eq!(read.note("about").unwrap(), "text");
        let message = |e: Error| e.message().to_owned();
        assert_eq!(
            message(read.get_shaped::<f32>("doubles", &[2]).unwrap_err()),
            "found 'doubles' of type F64 and shape [2], expected F32 and [2]"
        );
        assert!(message(read.get::<f32>("other").unwrap_err()).contains("cannot be read"));
        assert_eq!(message(read.note("more").unwrap_err()), "the file has no text 'more'");
        assert!(Unpacked::new(&file[..file.len() - 1]).is_err());
        assert!(Unpacked::new(b"").is_err());
        let mut wrong = Packer::default();
        wrong.put("a", &[3], &[1.0f32]);
        assert!(wrong.pack(None).is_err(), "the shape must fit");
    }
}
