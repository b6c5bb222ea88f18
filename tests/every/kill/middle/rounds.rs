//! `repeat`.

use examples::Kind;

use super::{Middle, output, referring};

#[tokio::test]
async fn a_text_that_is_refined_goes_on_with_the_round_that_was_under_way() {
    let file = "
steps:
  article:
    agent: writer
    message: \"${% if this is defined %}Improve it, ${{ this.data.remarks[0] }}${% else %}Draft it${% endif %}\"
    repeat: {until: this.data.score >= 9, max: 5}
  review: {agent: writer, message: [{text: Review this.}, {artifacts: article}]}
outputs:
  made: {value: \"${% for it in steps.article.artifacts['draft'].versions %}${{ it.text }}; ${% endfor %}${{ steps.review.text }}\"}
";
    let middle = Middle::of(&[("writer", Kind::Writer, 1)], file).await;
    let killed = middle.killed_at(middle.start(), "writer").await;
    assert_eq!(killed.count("round_ended"), 1);
    let done = middle.resumed(&killed.run, 0).await;
    let improve = ["Improve it, name a source", "Improve it, name a source"];
    let wanted = [
        referring("Draft it", &[]),
        referring(improve[0], &["Draft it"]),
        referring(improve[1], &[improve[0]]),
    ];
    let taken = middle.taken("writer").await;
    assert_eq!(taken[..3], wanted);
    assert!(taken[3].text.starts_with("Review this.") && taken.len() == 4, "{taken:?}");
    assert_eq!(taken[3].refers_to, [improve[1]], "the Task of the last round");
    assert_eq!(
        output(&done),
        "Draft 1: it; Draft 2: it, name a source; Draft 3: it, name a source; Nothing to mend."
    );
    assert_eq!(middle.journal().await.count("round_ended"), 2, "the third one was good enough");
}
