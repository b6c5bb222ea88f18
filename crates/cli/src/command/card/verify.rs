//! `convoke card verify`

use anstream::println;
use anstyle::{AnsiColor, Style};
use protocol::signature::{SignatureCheck, Standing, Verdict, Verification};
use serde_json::{Value, json};

use super::{check, outbound, pinned, receive};
use crate::{
    args::Args,
    content::clean,
    failure::{Exit, Failure},
    output::{self, DIM},
};

pub(super) async fn verify(args: &Args, from: &str, keys: &[String]) -> Result<Exit, Failure> {
    let outbound = outbound()?;
    let keys = pinned(&outbound, keys).await?;
    let received = receive(&outbound, from, &[]).await?;
    let verification = check(&outbound, &received, &keys).await?;
    let verdict = verification.verdict();
    if args.json {
        output::json(&report(&received.origin, &verification))?;
    } else {
        print(&verification);
    }
    let why = match verdict {
        Verdict::Trusted => return Ok(Exit::Ok),
        Verdict::Unsigned => "it has no signature",
        Verdict::Invalid => "none of its signatures proves anything",
        Verdict::ValidUntrusted => {
            "it is signed with a key of its own server, which nobody vouches for; if you trust that \
             key, name it with --keys"
        }
    };
    Err(Failure::work(format!("the card {} is not trusted: {why}", clean(&received.origin))))
}

/// Prints what each signature is worth.
pub(super) fn print(verification: &Verification) {
    if verification.signatures.is_empty() {
        println!("{DIM}signature{DIM:#} unsigned");
    }
    for check in &verification.signatures {
        let verdict = check.standing.verdict();
        let style = style(verdict);
        println!(
            "{DIM}signature{DIM:#} {style}{}{style:#} {}\n  {}",
            verdict.name(),
            clean(&title(check)),
            clean(&detail(&check.standing))
        );
    }
}

fn style(verdict: Verdict) -> Style {
    let color = match verdict {
        Verdict::Trusted => AnsiColor::Green,
        Verdict::ValidUntrusted | Verdict::Unsigned => AnsiColor::Yellow,
        Verdict::Invalid => AnsiColor::Red,
    };
    Style::new().fg_color(Some(color.into()))
}

fn title(check: &SignatureCheck) -> String {
    let algorithm = check.algorithm.as_deref().unwrap_or("no algorithm");
    let key = check.key_id.as_ref().map_or_else(String::new, |id| format!(", key {id}"));
    format!("{algorithm}{key}")
}

fn detail(standing: &Standing) -> String {
    match standing {
        Standing::Trusted { key_from, .. } => format!("by a key of {key_from}"),
        Standing::ValidUntrusted { key_from, .. } => {
            format!("by a key of {key_from}, which nobody vouches for")
        }
        Standing::Invalid(flaw) => flaw.to_string(),
    }
}

fn report(origin: &str, verification: &Verification) -> Value {
    let signatures: Vec<Value> = verification.signatures.iter().map(signature).collect();
    json!({
        "card": origin,
        "verdict": verification.verdict().name(),
        "signatures": signatures,
    })
}

fn signature(check: &SignatureCheck) -> Value {
    let mut told = json!({ "verdict": check.standing.verdict().name() });
    let names = [("alg", &check.algorithm), ("kid", &check.key_id), ("jku", &check.key_set_url)];
    for (name, value) in names {
        if let Some(value) = value {
            told[name] = json!(value);
        }
    }
    match &check.standing {
        Standing::Trusted { key_from, form } | Standing::ValidUntrusted { key_from, form } => {
            told["keyFrom"] = json!(key_from);
            told["form"] = json!(form.name());
        }
        Standing::Invalid(flaw) => {
            told["reason"] = json!(flaw.code());
            told["message"] = json!(flaw.to_string());
        }
    }
    told
}
