"""Figure: the numbers of a picture, and, when it is asked for, the chart that Altair draws."""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cranfield.errors import OptionError, escape_unprintable, require_libraries
from cranfield.extensions.report.figures.style import Drawing, Style, StyleName, find_style
from cranfield.formats.source import open_to_write
from cranfield.lazy import cached_property
from cranfield.notes import Note
from cranfield.options import finite_number

if TYPE_CHECKING:
    import altair as alt

SUFFIXES = (".svg", ".png", ".pdf", ".json")

_LIBRARIES = ("altair", "vl_convert")
_LARGEST_SCALE = 10  # of a PNG

Points = Sequence[Mapping[str, Any]]  # a dict for each point
Draw = Callable[[Style], Drawing]


@dataclass(frozen=True, eq=False)
class Figure:
    """A picture: `points` are its numbers, a dict each; `chart` is Altair's, made when first used.

    `notes` are the errors and warnings on these numbers, whose codes the picture names.

    `points` need no extra; `chart`, `caption` and all files need the extra `plot`. A notebook
    shows a figure as SVG.

    >>> from cranfield.figures import reciprocal_rank
    >>> figure = reciprocal_rank(4)
    >>> [point["value"] for point in figure.points]
    [1.0, 0.5, 0.3333333333333333, 0.25]
    """

    points: Points
    title: str
    subtitle: str
    draw: Draw
    style: StyleName = "screen"
    notes: tuple[Note, ...] = ()  # errors and warnings on the numbers

    def __post_init__(self) -> None:
        find_style(self.style)

    @cached_property
    def _drawing(self) -> Drawing:
        check_installed()
        return self.draw(find_style(self.style))

    @property
    def caption(self) -> str:
        """What the picture shows: its title, how to read it, what is left out, warnings' codes."""
        return " ".join(f"{sentence.rstrip('.')}." for sentence in self._sentences)

    @property
    def _sentences(self) -> list[str]:
        codes = ", ".join(dict.fromkeys(note.code for note in self.notes))
        doubts = f"Warnings: {codes}" if codes else ""
        return [
            text for text in (self.title, self.subtitle, *self._drawing.sentences, doubts) if text
        ]

    @cached_property
    def chart(self) -> "alt.LayerChart":
        """The chart, as Altair's object, to change or to combine with others.

        Raises LibraryError if Altair or vl-convert is not installed.
        """
        return find_style(self.style).chart(self._drawing, *self._sentences)

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The chart in Vega-Lite, data included: a JSON object."""
        return self.chart.to_dict()

    def to_svg(self) -> str:
        """Return the picture as SVG; its texts stay texts."""
        svg: str = self._convert("svg")
        if unit := find_style(self.style).unit:
            svg = re.sub(r' (width|height)="([0-9.]+)"', rf' \1="\2{unit}"', svg, count=2)
        return svg

    def to_png(self, scale: float | None = None) -> bytes:
        """Return the picture as PNG, `scale` times as large: above 0, 10 at most.

        By default 2 times; 5 times for a paper, which is 360 pixels an inch.
        """
        if scale is None:
            scale = find_style(self.style).scale
        if not 0 < (finite_number(scale) or 0) <= _LARGEST_SCALE:
            raise OptionError(
                f"scale={scale!r:.40}: expected a number above 0, {_LARGEST_SCALE} at most"
            )
        png: bytes = self._convert("png", scale=scale)
        return png

    def to_pdf(self) -> bytes:
        """Return the picture as PDF, in which lines stay lines and texts stay texts."""
        pdf: bytes = self._convert("pdf")
        return pdf

    def _convert(self, form: str, **options: Any) -> Any:
        """Return the picture in a form that vl-convert makes."""
        spec = self.spec  # raises LibraryError with what to install, if anything is missing
        import vl_convert

        make = getattr(vl_convert, f"vegalite_to_{form}")
        # Nothing may be loaded from an address: all data are in the specification.
        return make(spec, allowed_base_urls=[], **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, as its suffix says: .svg, .png, .pdf; .json for Vega-Lite.

        Raises OptionError for another suffix, InputError for a file that cannot be written.
        """
        suffix = read_suffix(path)
        if suffix == ".png":
            picture = self.to_png()
        elif suffix == ".pdf":
            picture = self.to_pdf()
        else:
            text = self.to_svg() if suffix == ".svg" else json.dumps(self.spec, indent=2) + "\n"
            picture = text.encode()
        with open_to_write(path) as stream:
            stream.write(picture)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __repr__(self) -> str:
        return f"Figure({self.title!r}, {len(self.points)} points)"


def check_installed() -> None:
    """Raise LibraryError if the libraries that draw pictures are not installed."""
    require_libraries(_LIBRARIES, "a picture")


def read_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a picture's file; raise OptionError if it is not in `SUFFIXES`."""
    name = os.fspath(path)
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in SUFFIXES:
        raise OptionError(
            f"{escape_unprintable(name)}: the suffix says how a picture is written; "
            f"choose one of {', '.join(SUFFIXES)}"
        )
    return suffix
