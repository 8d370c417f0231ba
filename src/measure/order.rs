//! The order of an instance's labels, best score first, under each rule for ties.

/// Who comes first among labels with exactly equal scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ties {
    /// Nobody: all of them get the last place of their group.
    Worst,
    /// The label with the lower index.
    LowerFirst,
    /// The label with the higher index.
    HigherFirst,
}

impl Ties {
    /// Is label a (score, index) ranked strictly before b? Under `Worst` a tie precedes as well,
    /// so that the labels that precede one, itself included, give its place.
    #[inline(always)]
    pub(super) fn precedes(self, a: (f64, usize), b: (f64, usize)) -> bool {
        a.0 > b.0
            || (a.0 == b.0
                && match self {
                    Ties::Worst => true,
                    Ties::LowerFirst => a.1 < b.1,
                    Ties::HigherFirst => a.1 > b.1,
                })
    }
}

/// Relevant and irrelevant labels that share a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub relevant: usize,
    pub irrelevant: usize,
}

/// Sorts the labels of instance after instance without allocating for each.
#[derive(Default)]
pub(super) struct Sorter {
    order: Vec<(f64, bool)>,
}

impl Sorter {
    /// Calls `visit` for each place, best first: a group of tied labels under [`Ties::Worst`], one
    /// label otherwise.
    pub(super) fn visit(
        &mut self,
        truth: &[bool],
        scores: &[f64],
        ties: Ties,
        mut visit: impl FnMut(Group),
    ) {
        let pairs = scores.iter().copied().zip(truth.iter().copied());
        self.order.clear();
        match ties {
            Ties::HigherFirst => self.order.extend(pairs.rev()),
            Ties::Worst | Ties::LowerFirst => self.order.extend(pairs),
        }
        // Stable, so that equal scores keep the order they were pushed in; no score is NaN.
        self.order.sort_by(|a, b| b.0.partial_cmp(&a.0).expect("scores are not NaN"));
        let same = |a: &(f64, bool), b: &(f64, bool)| ties == Ties::Worst && a.0 == b.0;
        for group in self.order.chunk_by(same) {
            let relevant = group.iter().filter(|l| l.1).count();
            visit(Group { relevant, irrelevant: group.len() - relevant });
        }
    }
}

/// Number of relevant labels.
pub(super) fn relevant(truth: &[bool]) -> usize {
    truth.iter().filter(|&&y| y).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_follow_the_tie_rule() {
        let truth = [true, false, true, false];
        let scores = [0.5, 0.5, 0.0, -0.0];
        let collect = |ties| {
            let mut places = Vec::new();
            let push = |g: Group| places.push((g.relevant, g.irrelevant));
            Sorter::default().visit(&truth, &scores, ties, push);
            places
        };
        assert_eq!(collect(Ties::Worst), [(1, 1), (1, 1)]);
        assert_eq!(collect(Ties::LowerFirst), [(1, 0), (0, 1), (1, 0), (0, 1)]);
        assert_eq!(collect(Ties::HigherFirst), [(0, 1), (1, 0), (0, 1), (1, 0)]);
    }
}
