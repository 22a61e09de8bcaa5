//! Generated settings files: any values, hooks of other tools, and every way to lay them out.

use proptest::prelude::*;
use serde_json::Value as Json;

pub(super) fn file() -> impl Strategy<Value = String> {
    prop_oneof![
        30 => (root(), print()).prop_map(|(root, print)| printed(&root, &print)),
        1 => "[ \t\r\n]{0,4}",
        1 => "\u{feff}?[ \n{}\\[\\]\"a:,]{0,8}",
    ]
}

/// A value to be printed in some style.
#[derive(Debug, Clone)]
enum Node {
    Leaf(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// How a generated file is laid out. The blanks are used in turn, wherever blanks may stand.
#[derive(Debug, Clone)]
struct Print {
    unit: Option<&'static str>,
    newline: &'static str,
    colon: &'static str,
    trailing_commas: bool,
    blanks: Vec<String>,
    around: (String, String),
}

struct Printer<'a> {
    print: &'a Print,
    out: String,
    used: usize,
}

impl Printer<'_> {
    fn blank(&mut self) {
        if !self.print.blanks.is_empty() {
            self.out.push_str(&self.print.blanks[self.used % self.print.blanks.len()]);
            self.used += 1;
        }
    }

    fn line(&mut self, depth: usize) {
        if let Some(unit) = self.print.unit {
            self.out.push_str(self.print.newline);
            self.out.push_str(&unit.repeat(depth));
        }
        self.blank();
    }

    fn node(&mut self, node: &Node, depth: usize) {
        let (open, close, items): (_, _, Vec<(Option<&String>, &Node)>) = match node {
            Node::Leaf(leaf) => return self.out.push_str(leaf),
            Node::Array(nodes) => ('[', ']', nodes.iter().map(|node| (None, node)).collect()),
            Node::Object(members) => {
                ('{', '}', members.iter().map(|(key, node)| (Some(key), node)).collect())
            }
        };
        self.out.push(open);
        let last = items.len().wrapping_sub(1);
        for (index, (key, node)) in items.iter().enumerate() {
            self.line(depth + 1);
            if let Some(key) = key {
                self.out.push_str(key);
                self.blank();
                self.out.push_str(self.print.colon);
                self.blank();
            }
            self.node(node, depth + 1);
            self.blank();
            if index != last || self.print.trailing_commas {
                self.out.push(',');
            }
        }
        match items.is_empty() {
            true => self.blank(),
            false => self.line(depth),
        }
        self.out.push(close);
    }
}

fn printed(root: &Node, print: &Print) -> String {
    let mut printer = Printer { print, out: print.around.0.clone(), used: 0 };
    printer.node(root, 0);
    printer.out + &print.around.1
}

fn leaf() -> impl Strategy<Value = Node> {
    let text = any::<String>().prop_map(|text| Json::from(text).to_string());
    let number =
        prop_oneof![Just("0"), Just("-1.50"), Just("1e5"), Just("12345678901234567890123")];
    prop_oneof![
        text.prop_map(Node::Leaf),
        number.prop_map(|number| Node::Leaf(number.to_owned())),
        prop_oneof![Just("true"), Just("false"), Just("null"), Just(r#""\u0041\/\n // /* ""#)]
            .prop_map(|word| Node::Leaf(word.to_owned())),
    ]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("\"model\"".to_owned()),
        Just("\"permissions\"".to_owned()),
        Just("\"Stop\"".to_owned()),
        "[a-z]{0,3}".prop_map(|key| format!("\"{key}\"")),
    ]
}

fn value() -> impl Strategy<Value = Node> {
    leaf().prop_recursive(6, 40, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Node::Array),
            proptest::collection::vec((key(), inner), 0..4).prop_map(Node::Object),
        ]
    })
}

fn deep() -> impl Strategy<Value = Node> {
    (0_usize..90).prop_map(|depth| {
        (0..depth).fold(Node::Array(Vec::new()), |node, level| match level % 2 {
            0 => Node::Array(vec![node]),
            _ => Node::Object(vec![("\"d\"".to_owned(), node)]),
        })
    })
}

fn foreign_entry() -> impl Strategy<Value = Node> {
    let text = |text: &str| Node::Leaf(Json::from(text).to_string());
    let hook = prop_oneof![Just("say done"), Just("cld hook | tee x"), Just("/x/notcld hook")];
    let hook = hook.prop_map(move |command| {
        Node::Object(vec![
            ("\"type\"".to_owned(), text("command")),
            ("\"command\"".to_owned(), text(command)),
        ])
    });
    let hooks = proptest::collection::vec(hook, 0..3).prop_map(Node::Array);
    (hooks, proptest::option::of(leaf())).prop_map(|(hooks, matcher)| {
        let matcher = matcher.map(|matcher| ("\"matcher\"".to_owned(), matcher));
        Node::Object(matcher.into_iter().chain([("\"hooks\"".to_owned(), hooks)]).collect())
    })
}

fn hooks() -> impl Strategy<Value = Node> {
    let event = prop_oneof![
        Just("\"Stop\"".to_owned()),
        Just("\"PreToolUse\"".to_owned()),
        Just("\"St\\u006fp\"".to_owned()),
        Just("\"WorktreeCreate\"".to_owned()),
        Just("\"Unknown\"".to_owned()),
    ];
    let entry = prop_oneof![8 => foreign_entry(), 1 => value()];
    let entries = proptest::collection::vec(entry, 0..4).prop_map(Node::Array);
    let entries = prop_oneof![12 => entries, 1 => value()];
    let members = proptest::collection::vec((event, entries), 0..4).prop_map(Node::Object);
    prop_oneof![12 => members, 1 => value()]
}

fn root() -> impl Strategy<Value = Node> {
    let plain = (key(), prop_oneof![8 => value(), 1 => deep()]);
    let member =
        prop_oneof![3 => plain, 2 => hooks().prop_map(|hooks| ("\"hooks\"".to_owned(), hooks))];
    let object = proptest::collection::vec(member, 0..5).prop_map(Node::Object);
    let huge = (300_usize..1000).prop_map(|count| {
        let rules = (0..count).map(|rule| Node::Leaf(format!("\"Bash(tool {rule}:*)\"")));
        Node::Object(vec![("\"allow\"".to_owned(), Node::Array(rules.collect()))])
    });
    prop_oneof![60 => object, 2 => value(), 1 => huge]
}

fn print() -> impl Strategy<Value = Print> {
    let space =
        prop_oneof![Just(" "), Just("\t"), Just("\n"), Just("\r\n"), Just("  \n"), Just("")];
    let space = space.prop_map(str::to_owned).boxed();
    let comment =
        prop_oneof![Just("/* c */"), Just("// \" ]}\n"), Just(" // c,\r\n"), Just("/*\n*/ ")]
            .prop_map(str::to_owned);
    let any_blank = prop_oneof![3 => space.clone(), 2 => comment].boxed();
    let blanks = prop_oneof![
        3 => Just(Vec::new()),
        2 => proptest::collection::vec(space.clone(), 1..12),
        2 => proptest::collection::vec(any_blank.clone(), 1..12),
    ];
    let bom = prop_oneof![9 => Just(""), 1 => Just("\u{feff}")];
    let around = (bom, space, prop_oneof![4 => Just("\n".to_owned()), 2 => any_blank])
        .prop_map(|(bom, before, after)| (format!("{bom}{before}"), after));
    (
        prop_oneof![
            Just(None),
            Just(Some("  ")),
            Just(Some("    ")),
            Just(Some("\t")),
            Just(Some(""))
        ],
        prop_oneof![Just("\n"), Just("\r\n")],
        prop_oneof![Just(": "), Just(":"), Just(" : ")],
        prop_oneof![3 => Just(false), 1 => Just(true)],
        blanks,
        around,
    )
        .prop_map(|(unit, newline, colon, trailing_commas, blanks, around)| Print {
            unit,
            newline,
            colon,
            trailing_commas,
            blanks,
            around,
        })
}
