"""Formulas of the site as MathML: an extension of Python-Markdown, used by zensical.toml.

Between dollar signs, in a line or as a block, pages have formulas in LaTeX, as code hosts show
them. A browser draws MathML without a script, a font or a request to another host.
"""

import re
from xml.etree.ElementTree import Element, fromstring

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

BLOCK = r"(?<!\\)\$\$(.+?)\$\$"
INLINE = r"(?<![\\$\w])\$(?=\S)([^$\n]+?)(?<=\S)\$(?![\w$])"
_SPACE = re.compile(r'\sxmlns="[^"]*"')  # a page of HTML needs none


def mathml(latex: str, display: str = "inline") -> Element:
    """Return a formula as an element; `display` is inline or block.

    >>> mathml("x + 1").tag
    'math'
    """
    return fromstring(_SPACE.sub("", convert(latex, display=display)))  # noqa: S314 # our own pages


class _Formula(InlineProcessor):
    """Formulas of one kind."""

    def __init__(self, pattern: str, md: Markdown, display: str) -> None:
        super().__init__(pattern, md)
        self.compiled_re = re.compile(pattern, re.S)
        self._display = display

    def handleMatch(  # its name there
        self, m: re.Match[str], data: str
    ) -> tuple[Element, int, int]:
        """Return the element, and from where to where it stands for the text."""
        return mathml(m[1].strip(), self._display), m.start(), m.end()


class Formulas(Extension):
    """The extension: `$...$` and `$$...$$`."""

    def extendMarkdown(self, md: Markdown) -> None:  # its name there
        """Look for formulas before backslashes are taken for escapes, but after code."""
        md.inlinePatterns.register(_Formula(BLOCK, md, "block"), "math-block", 186)
        md.inlinePatterns.register(_Formula(INLINE, md, "inline"), "math-inline", 185)


def makeExtension(**_: object) -> Formulas:  # its name there
    """Return the extension, for Python-Markdown."""
    return Formulas()
