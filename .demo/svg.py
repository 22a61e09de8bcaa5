"""Screens of a terminal, as tmux's `capture-pane -e` prints them, drawn as one SVG."""

import re
import unicodedata
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 8.4, 18
MARGIN = 12
FOREGROUND, BACKGROUND = "#cdd3de", "#1b2b34"
BASIC = ["#343d46", "#ec5f67", "#99c794", "#fac863", "#6699cc", "#c594c5", "#5fb3b3", "#c0c5ce",
         "#65737e", "#ec5f67", "#99c794", "#fac863", "#6699cc", "#c594c5", "#5fb3b3", "#d8dee9"]


def indexed(number):
    """One of the 256 colours."""
    if number < 16:
        return BASIC[number]
    if number < 232:
        number -= 16
        levels = [0, 95, 135, 175, 215, 255]
        return "#%02x%02x%02x" % (levels[number // 36], levels[number // 6 % 6], levels[number % 6])
    grey = 8 + 10 * (number - 232)
    return "#%02x%02x%02x" % (grey, grey, grey)


class Style:
    def __init__(self):
        self.reset()

    def reset(self):
        self.colour, self.ground, self.bold, self.dim, self.reverse = None, None, False, False, False

    def apply(self, codes):
        codes = [int(code or 0) for code in re.split("[;:]", codes)]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.reset()
            elif code in (1, 2, 7):
                setattr(self, {1: "bold", 2: "dim", 7: "reverse"}[code], True)
            elif code == 22:
                self.bold = self.dim = False
            elif code == 27:
                self.reverse = False
            elif code in (38, 48):
                if codes.pop(0) == 5:
                    colour = indexed(codes.pop(0))
                else:
                    colour = "#%02x%02x%02x" % (codes.pop(0), codes.pop(0), codes.pop(0))
                setattr(self, "colour" if code == 38 else "ground", colour)
            elif code == 39:
                self.colour = None
            elif code == 49:
                self.ground = None
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.colour = BASIC[code - 30 if code < 40 else code - 82]
            elif 40 <= code <= 47 or 100 <= code <= 107:
                self.ground = BASIC[code - 40 if code < 50 else code - 92]

    def drawn(self):
        """Colour of the text, colour behind it, and the rest."""
        colour, ground = self.colour or FOREGROUND, self.ground
        if self.reverse:
            colour, ground = ground or BACKGROUND, colour
        return colour, ground, self.bold, self.dim


def columns(text):
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide


def row(line, style, number):
    """One line: what is behind the text, and the text. Each run stands at its own column, so that
    the font of the reader cannot shift it."""
    shapes, column = [], 0
    top = MARGIN + number * HEIGHT
    for part in re.split(r"(\x1b\[[\d;:]*m|\x1b[()].|[\x0e\x0f])", line):
        code = re.fullmatch(r"\x1b\[([\d;:]*)m", part)
        if code:
            style.apply(code.group(1))
            continue
        if not part or part[0] in "\x1b\x0e\x0f":
            continue
        colour, ground, bold, dim = style.drawn()
        left, width = MARGIN + column * WIDTH, columns(part) * WIDTH
        if ground:
            shapes.append(f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{HEIGHT}" fill="{ground}" shape-rendering="crispEdges"/>')
        if part.strip():
            looks = (' font-weight="bold"' if bold else "") + (' opacity="0.6"' if dim else "")
            indent = len(part) - len(part.lstrip(" "))
            text = part.strip(" ")
            left += indent * WIDTH
            shapes.append(
                f'<text x="{left:.1f}" y="{top + 13}" fill="{colour}" textLength="{columns(text) * WIDTH:.1f}"'
                f'{looks}>{escape(text)}</text>')
        column += columns(part)
    return "".join(shapes)


def screen(text):
    style = Style()
    return "\n".join(row(line, style, number) for number, line in enumerate(text.split("\n")))


def animation(frames, width, height):
    """The frames one after the other, for ever. Without animation the last one is seen."""
    total = sum(seconds for _, seconds in frames)
    moves = len(frames) > 1
    wide, high = width * WIDTH + 2 * MARGIN, height * HEIGHT + 2 * MARGIN
    rules, groups, begun = [], [], 0.0
    for number, (text, seconds) in enumerate(frames):
        start, end = 100 * begun / total, 100 * (begun + seconds) / total
        begun += seconds
        hidden = f"0%,{start:.2f}%{{visibility:hidden}}" if number else ""
        after = f"{end:.2f}%,100%{{visibility:hidden}}" if end < 99.99 else "100%{visibility:visible}"
        if moves:
            rules.append(f"@keyframes f{number}{{{hidden}{start + 0.01:.2f}%{{visibility:visible}}"
                         f"{end - 0.01:.2f}%{{visibility:visible}}{after}}}"
                         f"#f{number}{{animation:f{number} {total}s step-end infinite}}")
        groups.append(f'<g id="f{number}"><rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>\n'
                      f"{screen(text)}</g>")
    font = "font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:14px;white-space:pre"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" '
            f'width="{wide:.0f}" height="{high:.0f}" role="img" aria-label="cld demo">\n'
            f"<style>text{{{font}}}{''.join(rules)}</style>\n" + "\n".join(groups) + "\n</svg>\n")
