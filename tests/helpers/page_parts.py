"""What a report's page holds, read back without a browser: its elements, its data, its scores."""

import base64
import gzip
import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import numpy as np
import numpy.typing as npt

VOID = {"meta", "link", "input", "br"}


@dataclass
class Element:
    """An element of the page: its tag, attributes, and children."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text of all its descendants."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def descendants(self) -> list["Element"]:
        """All elements inside it, in the order of the page."""
        elements = []
        for child in self.children:
            if isinstance(child, Element):
                elements += [child, *child.descendants]
        return elements

    def find_all(self, tag: str, class_: str | None = None) -> list["Element"]:
        """Return the descendants that have a tag, and a class."""
        return [
            element
            for element in self.descendants
            if element.tag == tag and (class_ is None or class_ in element.classes)
        ]

    def find_by_id(self, name: str) -> "Element":
        """Return the descendant that has an id."""
        (match,) = (element for element in self.descendants if element.attributes.get("id") == name)
        return match

    @property
    def classes(self) -> list[str]:
        """The names of its classes."""
        return (self.attributes.get("class") or "").split()


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("page")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len({*names}), names
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, (tag, self.open[-1])
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse_page(html: str) -> Element:
    """Return the page as elements; every element must be closed where it belongs."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    assert len(parser.open) == 1, parser.open[-1]
    return parser.open[0]


@dataclass
class Page:
    """A report's page, parsed: its elements, and the archive that it embeds."""

    html: str

    def __post_init__(self) -> None:
        self.root = parse_page(self.html)
        self.archive: dict[str, Any] = json.loads(
            self._read_script("data"), parse_constant=_refuse_constant
        )

    def _read_script(self, name: str) -> str:
        (script_text,) = re.findall(
            rf'<script type="[a-z/]+" id="{name}">(.*?)</script>', self.html, re.S
        )
        return str(script_text)

    @property
    def rankings(self) -> dict[int, dict[str, Any]]:
        """The rankings, by the number of the query."""
        return {int(query): ranking for query, ranking in self._unpack_json("lists").items()}

    @property
    def worksheets(self) -> dict[tuple[int, int], str]:
        """The worksheets, by the numbers of query and system."""
        worksheet_of_pair = {}
        for key, text in self._unpack_json("sheets").items():
            query, _, system = key.partition(",")
            worksheet_of_pair[int(query), int(system)] = text
        return worksheet_of_pair

    def _unpack_json(self, name: str) -> Any:
        encoded_text = self._read_script(name)
        return (
            json.loads(gzip.decompress(base64.b64decode(encoded_text, validate=True)))
            if encoded_text
            else {}
        )

    def scores(self, index: int) -> npt.NDArray[np.float64]:
        """Return the scores of the measure at an index: (n_systems, n_queries)."""
        raw = gzip.decompress(base64.b64decode(self._read_script("scores"), validate=True))
        shape = len(self.archive["systems"]), len(self.archive["queries"])
        start = 0
        scored_measures = [
            measure for measure in self.archive["measures"] if measure["queries"] is not None
        ]
        for n, measure in enumerate(scored_measures):
            assert measure["queries"] == n
            size = shape[0] * shape[1] * (8 if measure["unit"] is None else 2)
            block, start = raw[start : start + size], start + size
            if measure is self.archive["measures"][index]:
                if measure["unit"] is None:
                    return np.frombuffer(block, "<f8").reshape(shape)
                steps: npt.NDArray[np.float64] = np.frombuffer(block, "<u2").reshape(shape) / 1.0
                return steps / float(measure["unit"])
        raise AssertionError(f"measure {index} has no scores")

    def check_sizes(self) -> None:
        """Check that the blocks of scores are as long as they should be, and no longer."""
        raw = gzip.decompress(base64.b64decode(self._read_script("scores"), validate=True))
        n = len(self.archive["systems"]) * len(self.archive["queries"])
        units = [
            measure["unit"]
            for measure in self.archive["measures"]
            if measure["queries"] is not None
        ]
        assert len(raw) == sum(n * (8 if unit is None else 2) for unit in units)


def _refuse_constant(constant: str) -> None:
    raise AssertionError(f"{constant} in JSON")
