use protocol::signature::{Standing, Verdict, Verification};
use serde::{Deserialize, Serialize};

/// Says what a card's signatures are worth together, and by whom they are.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Trust {
    /// How far they are to be trusted.
    pub signed: Signed,
    /// Who signed: what the pinned key is called, or where the card's own server keeps its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// Why signatures prove nothing, one each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<String>,
}

/// How far the signatures of a card are to be trusted, least first.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Signed {
    /// There is none.
    #[default]
    Unsigned,
    /// None of them proves anything.
    Invalid,
    /// One is right, by a key nobody vouches for.
    ValidUntrusted,
    /// One is right, by a pinned key.
    Trusted,
}

impl Signed {
    /// Every value.
    pub const ALL: [Self; 4] = [Self::Unsigned, Self::Invalid, Self::ValidUntrusted, Self::Trusted];

    /// The word people and programs read.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unsigned => "unsigned",
            Self::Invalid => "invalid",
            Self::ValidUntrusted => "valid-untrusted",
            Self::Trusted => "trusted",
        }
    }
}

impl std::fmt::Display for Signed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl Trust {
    /// Sums up what was checked. Of several signatures the best one counts.
    #[must_use]
    pub fn of(verification: &Verification) -> Self {
        let signed = match verification.verdict() {
            Verdict::Unsigned => Signed::Unsigned,
            Verdict::Invalid => Signed::Invalid,
            Verdict::ValidUntrusted => Signed::ValidUntrusted,
            Verdict::Trusted => Signed::Trusted,
        };
        let verdict = verification.verdict();
        let best = verification.signatures.iter().find(|it| it.standing.verdict() == verdict);
        let signer = best.and_then(|check| match &check.standing {
            Standing::Trusted { key_from, .. } | Standing::ValidUntrusted { key_from, .. } => {
                Some(key_from.clone())
            }
            Standing::Invalid(_) => None,
        });
        let flaws = verification.signatures.iter().filter_map(|check| match &check.standing {
            Standing::Invalid(flaw) => Some(flaw.to_string()),
            _ => None,
        });
        Self { signed, signer, flaws: flaws.collect() }
    }

    /// What changed for the worse from one version of a card to the next: another signer, or none.
    pub(crate) fn lost(&self, now: &Self) -> Option<String> {
        let was = self.signer.as_ref().map(|signer| (self.signed, signer))?;
        let is = now.signer.as_ref().map(|signer| (now.signed, signer));
        if is == Some(was) || is.is_some_and(|(signed, _)| signed > was.0) {
            return None;
        }
        let now = match is {
            Some((signed, signer)) => format!("now signed by {signer} ({signed})"),
            None => format!("now {}", now.signed),
        };
        Some(format!("it was signed by {} ({}) and is {now}", was.1, was.0))
    }
}

#[cfg(test)]
mod tests {
    use super::{Signed, Trust};

    fn by(signed: Signed, signer: &str) -> Trust {
        Trust { signed, signer: Some(signer.to_owned()), flaws: Vec::new() }
    }

    #[test]
    fn another_signer_or_none_is_a_loss_and_a_pinned_one_is_not() {
        let acme = by(Signed::Trusted, "acme");
        let own = by(Signed::ValidUntrusted, "https://a.example/keys");
        assert_eq!(acme.lost(&acme), None);
        assert_eq!(Trust::default().lost(&acme), None);
        assert_eq!(own.lost(&acme), None);
        let lost = |was: &Trust, is: &Trust| was.lost(is).unwrap();
        assert_eq!(
            lost(&acme, &by(Signed::Trusted, "other")),
            "it was signed by acme (trusted) and is now signed by other (trusted)"
        );
        assert_eq!(
            lost(&acme, &Trust::default()),
            "it was signed by acme (trusted) and is now unsigned"
        );
        let invalid =
            Trust { signed: Signed::Invalid, signer: None, flaws: vec!["altered".into()] };
        assert!(lost(&own, &invalid).ends_with("is now invalid"));
        assert!(lost(&acme, &own).contains("now signed by https://a.example/keys"));
    }
}
