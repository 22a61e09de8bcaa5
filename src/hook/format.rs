//! tmux formats with the parts that are already decided left out: `1` and `0` are the conditions
//! whose answer is known when the batch is written.

pub(super) fn choose(condition: &str, yes: &str, no: &str) -> String {
    match condition {
        "1" => yes.to_owned(),
        "0" => no.to_owned(),
        _ if yes == no => yes.to_owned(),
        _ => format!("#{{?{condition},{yes},{no}}}"),
    }
}

pub(super) fn equal(left: &str, right: &str) -> String {
    if left.contains('#') || right.contains('#') {
        return format!("#{{==:{left},{right}}}");
    }
    u8::from(left == right).to_string()
}

pub(super) fn any(conditions: &[String]) -> String {
    nested("||", conditions, "0", "1")
}

pub(super) fn all(conditions: &[String]) -> String {
    nested("&&", conditions, "1", "0")
}

/// The logical operators of tmux take two arguments each.
fn nested(operator: &str, conditions: &[String], neutral: &str, decisive: &str) -> String {
    if conditions.iter().any(|condition| condition == decisive) {
        return decisive.to_owned();
    }
    let open: Vec<&String> = conditions.iter().filter(|condition| *condition != neutral).collect();
    let Some((last, rest)) = open.split_last() else { return neutral.to_owned() };
    rest.iter().rfold((*last).clone(), |inner, outer| format!("#{{{operator}:{outer},{inner}}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_decided_is_left_out() {
        let open = || "#{@x}".to_owned();
        let (no, yes) = (|| "0".to_owned(), || "1".to_owned());
        assert_eq!(choose("1", "a", "b"), "a");
        assert_eq!(choose("0", "a", "b"), "b");
        assert_eq!(choose("#{@x}", "a", "b"), "#{?#{@x},a,b}");
        assert_eq!(choose("#{@x}", "a", "a"), "a");
        assert_eq!(any(&[no(), no()]), "0");
        assert_eq!(any(&[no(), open(), no()]), "#{@x}");
        assert_eq!(any(&[open(), yes()]), "1");
        assert_eq!(all(&[open(), no()]), "0");
        assert_eq!(all(&[yes()]), "1");
        assert_eq!(all(&[open(), yes(), open(), open()]), "#{&&:#{@x},#{&&:#{@x},#{@x}}}");
        assert_eq!(equal("a", "a"), "1");
        assert_eq!(equal("a", "b"), "0");
        assert_eq!(equal("#{@x}", "a"), "#{==:#{@x},a}");
    }
}
