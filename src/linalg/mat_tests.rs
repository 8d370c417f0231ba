use super::*;

#[test]
fn windows_show_the_right_entries() {
    let m = Mat::from_fn(6, 4, |i, j| (10 * i + j) as f64);
    assert_eq!(m.view().t().get(3, 5), 53.0);
    assert_eq!(m.view().every(3).row(1), &[30.0, 31.0, 32.0, 33.0]);
    assert_eq!(m.view().every(4).rows(), 2);
    assert_eq!(m.view().columns(1, 3).row(2), &[21.0, 22.0]);
    assert_eq!(m.view().slice_rows(2, 5).row(0)[0], 20.0);
    assert_eq!(m.view().skip_rows(1).every(2).row(2)[0], 50.0);
    assert_eq!(m.select_rows(&[5, 0]).row(0), m.row(5));
    let mut gathered = Mat::zeros(9, 1);
    gathered.gather_rows(&m, &[5, 0]);
    assert_eq!(gathered, m.select_rows(&[5, 0]));
    assert_eq!(m.select_cols(&[3, 1]).row(1), &[13.0, 11.0]);
    assert_eq!(m.transposed()[(2, 4)], 42.0);
    let mut w = m.clone();
    w.view_mut().every(2).columns(2, 4).row_mut(1)[0] = -1.0;
    assert_eq!(w[(2, 2)], -1.0);
    w.view_mut().skip_rows(1).every(3).row_mut(1)[3] = -2.0;
    assert_eq!(w[(4, 3)], -2.0);
    w.reshape(4, 6);
    assert_eq!((w.rows(), w.cols(), w.as_slice().len()), (4, 6, 24));
    w.reshape(6, 4);
    w.set_rows(2);
    w.set_rows(3);
    assert_eq!(w.row(2), &[0.0; 4]);
}

#[test]
fn a_matrix_can_be_a_part_of_itself() {
    let mut m = Mat::from_fn(2, 3, |i, j| (10 * i + j) as f64);
    m.show(1, 2);
    assert_eq!(m.as_slice(), &[10.0, 11.0, 12.0, 0.0, 0.0, 0.0]);
    m[(1, 0)] = 20.0;
    m.row_mut(1)[1] = 21.0;
    m.view_mut().row_mut(1)[2] = 22.0;
    assert_eq!((m.row(1), m[(0, 2)]), (&[20.0, 21.0, 22.0][..], 12.0));
    assert_eq!(m.rows_iter().count(), 2);
    assert_eq!(m, Mat::from_vec(2, 3, vec![10.0, 11.0, 12.0, 20.0, 21.0, 22.0]));
    m.set_rows(1);
    m.show(0, 2);
    assert_eq!(m.as_slice(), &[0.0, 1.0, 2.0, 10.0, 11.0, 12.0]);
    assert_eq!(m.cast::<f32>().rows(), 2);
    m.show(2, 1);
    assert_eq!(m.as_slice(), &[0.0; 3], "what set_rows dropped comes back as zero");
    m.show(1, 1);
    m.reshape(2, 1);
    m.fill(4.0);
    assert_eq!(m.as_slice(), &[4.0; 2]);
}

#[test]
fn values_that_are_not_finite_are_found() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut m = Mat::<f32>::zeros(3, 4);
        m.check_finite("numbers").unwrap();
        m[(2, 1)] = bad;
        let e = m.check_finite("numbers").unwrap_err();
        let want = format!("found {bad} in row 2, column 1 (from 0), expected finite numbers");
        assert_eq!(e.message(), want);
    }
}

#[test]
fn empty_matrices_are_harmless() {
    let m = Mat::<f32>::zeros(0, 5);
    assert_eq!(m.rows_iter().count(), 0);
    assert_eq!(Mat::<f32>::zeros(3, 0).view().columns(0, 0).cols(), 0);
    assert_eq!(m.view().every(2).rows(), 0);
    assert_eq!(m.view().skip_rows(1).rows(), 0);
    assert_eq!(m.clone().view_mut().skip_rows(2).rows(), 0);
    m.check_finite("numbers").unwrap();
}

#[test]
fn new_rows_are_zero_whatever_was_hidden_there() {
    let mut m = Mat::from_fn(4, 2, |i, _| 1.0 + i as f32);
    m.show(1, 2);
    m.set_rows(3);
    assert_eq!(m.as_slice(), &[2.0, 2.0, 3.0, 3.0, 0.0, 0.0]);
}
