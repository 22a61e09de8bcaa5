//! Where everything stands on a screen of any size. Pure.

use ratatui::layout::{Position, Rect};

/// From this width on the preview stands beside the list.
const BESIDE: u16 = 72;
/// From this height on it stands below the list where there is no room beside it.
const BELOW: u16 = 14;
const WIDEST_LIST: u16 = 110;
const WITH_FOOTER: u16 = 4;
const WITH_HEADINGS: u16 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Layout {
    pub(super) prompt: Rect,
    pub(super) list: Rect,
    /// The line between list and preview; as wide or as high as one cell.
    pub(super) divider: Rect,
    pub(super) preview: Rect,
    pub(super) footer: Rect,
}

impl Layout {
    pub(super) fn of(area: Rect) -> Self {
        let Rect { x, y, width, height } = area;
        let prompt = Rect { height: height.min(1), ..area };
        let footer_height = u16::from(height >= WITH_FOOTER);
        let footer = Rect { x, y: y + height - footer_height, width, height: footer_height };
        let body = Rect { x, y: y + prompt.height, width, height: height - prompt.height };
        let body = Rect { height: body.height - footer_height, ..body };
        let whole = Self { prompt, list: body, footer, ..Self::default() };
        if width >= BESIDE {
            let list = width.min(2 * WIDEST_LIST) * 11 / 20;
            let list = list.min(WIDEST_LIST);
            return Self {
                list: Rect { width: list, ..body },
                divider: Rect { x: x + list, width: 1, ..body },
                preview: Rect { x: x + list + 2, width: width - list - 2, ..body },
                ..whole
            };
        }
        if body.height >= BELOW {
            let list = body.height / 2;
            let rest = body.height - list - 1;
            return Self {
                list: Rect { height: list, ..body },
                divider: Rect { y: body.y + list, height: 1, ..body },
                preview: Rect { y: body.y + list + 1, height: rest, ..body },
                ..whole
            };
        }
        whole
    }

    /// Whether there is room for the names of the groups.
    pub(super) fn has_headings(&self) -> bool {
        self.list.height >= WITH_HEADINGS
    }

    pub(super) fn is_in_preview(&self, x: u16, y: u16) -> bool {
        self.preview.contains(Position { x, y })
    }

    /// The line of the list at a place on the screen, counted from its top.
    pub(super) fn line_at(&self, x: u16, y: u16) -> Option<usize> {
        let is_inside = self.list.contains(Position { x, y });
        is_inside.then(|| usize::from(y - self.list.y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layout(width: u16, height: u16) -> Layout {
        Layout::of(Rect::new(0, 0, width, height))
    }

    #[test]
    fn the_preview_stands_beside_the_list_or_below_or_not_at_all() {
        let beside = layout(80, 24);
        assert_eq!((beside.list.width, beside.preview.width), (44, 34));
        assert_eq!((beside.list.height, beside.preview.height), (22, 22));
        let wide = layout(200, 60);
        assert_eq!((wide.list.width, wide.preview.width), (110, 88));
        let below = layout(50, 24);
        assert_eq!((below.list.height, below.preview.height), (11, 10));
        assert!(layout(50, 12).preview.is_empty());
        assert_eq!(layout(10, 1).list.height, 0);
    }

    proptest! {
        #[test]
        fn nothing_stands_outside_of_the_screen_or_on_something_else(
            width in 0_u16..300, height in 0_u16..100,
        ) {
            let area = Rect::new(0, 0, width, height);
            let layout = Layout::of(area);
            let all = [layout.prompt, layout.list, layout.divider, layout.preview, layout.footer];
            for (at, one) in all.iter().enumerate() {
                prop_assert_eq!(one.intersection(area).area(), one.area());
                for other in &all[at + 1..] {
                    prop_assert_eq!(one.intersection(*other).area(), 0, "{:?}", layout);
                }
            }
        }
    }
}
