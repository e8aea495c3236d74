"""The leaderboard as HTML, which needs no script: a table with a picture of the intervals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cranfield.comparison.method import deciding_p_name
from cranfield.comparison.result import Pair, Result, System
from cranfield.extensions.report.axis import Axis, percent
from cranfield.extensions.report.digits import (
    format_change,
    format_digits,
    format_interval,
    format_short,
)
from cranfield.extensions.report.element import (
    NO_MARKUP,
    Markup,
    element,
    join_markup,
    name_element,
)
from cranfield.extensions.report.evidence import Evidence
from cranfield.extensions.report.headline import describe_families
from cranfield.lazy import cached_property
from cranfield.render.numbers import format_p, format_percent, format_share
from cranfield.render.typed_names import as_typed

_ROW_HEIGHT = 36  # pixels
_MARKS = {  # {verdict: (class, sign, words)}
    "better": ("up", "▲", "significantly better"),
    "worse": ("down", "▼", "significantly worse"),
    None: ("none", "○", "no evidence of a difference"),
    "unplaced": ("none", "?", "cannot be placed: too little is judged"),
}


@dataclass(frozen=True)
class Heading:
    """The head of a column: its words, its classes, what the script sorts it by, its tooltip."""

    text: str | Markup
    classes: str
    key: str | None = None
    title: str | None = None

    @property
    def cell(self) -> Markup:
        """The cell of the head."""
        label = element("abbr", self.text, title=self.title) if self.title else self.text
        return element("th", label, scope="col", class_=self.classes, data_key=self.key)


@dataclass(frozen=True, eq=False)
class Board:
    """The leaderboard of the first measure."""

    evidence: Evidence

    @cached_property
    def result(self) -> Result:
        """The result of the first measure."""
        return self.evidence.comparison[self.evidence.measures[0]]

    @cached_property
    def axis(self) -> Axis:
        """The axis of the intervals."""
        ends = ((system.mean, system.low, system.high) for system in self.result.systems)
        return Axis.around(end for triple in ends for end in triple if end is not None)

    @property
    def markup(self) -> Markup:
        """The table."""
        pairs = self.evidence.baseline_pairs(self.result.measure)
        rows = (
            self._system_row(place, system, pairs.get(system.name))
            for place, system in enumerate(self.result.ranked_systems, 1)
        )
        caption = element("caption", self._caption, class_="sr")
        head = element("thead", element("tr", *(heading.cell for heading in self._headings)))
        return element("table", caption, head, element("tbody", *rows), class_="board", id="board")

    @property
    def _caption(self) -> str:
        level = format_percent(1 - self.evidence.comparison.settings.alpha)
        caption = f"Systems by their means, with {level} intervals"
        baseline = self.evidence.baseline
        return caption if baseline is None else f"{caption} and the difference from {baseline}"

    @property
    def _headings(self) -> Iterator[Heading]:
        evidence, result, baseline = self.evidence, self.result, self.evidence.baseline
        level = format_percent(1 - evidence.comparison.settings.alpha)
        yield Heading("#", "n rank", "rank")
        yield Heading("System", "l", "name")
        yield Heading(self._tick_markup, "plot")
        yield Heading(as_typed(result.measure), "n", "mean")
        yield Heading(f"{level} interval", "n of-mean", "low")
        if baseline is not None:
            title = "compared with the baseline: difference, or ratio of geometric means"
            yield Heading(join_markup(["vs ", name_element(baseline, 24)]), "n vs", "diff", title)
            if evidence.comparison.settings.test != "bayes":
                comparisons_text = f"of the {result.comparisons:,} comparisons with the baseline"
                p_name = deciding_p_name(result, evidence.comparison.settings)
                yield Heading(p_name, "n p", "p_adjusted", comparisons_text)
            yield from (Heading(*fields) for fields in self._probability_headings)
            yield Heading("W / T / L", "wtl mid", "wins", "queries better, the same, worse")
        elif result.letters is not None and len(result.systems) > 1:
            title = "systems that share a letter do not differ significantly"
            yield Heading("Letters", "l letters", "letters", title)
        for i, name in enumerate(evidence.more_baselines):
            yield Heading(join_markup(["vs ", name_element(name, 24)]), "n vs", f"vs{i}")
        if evidence.pair_comparison[result.measure].ranks and len(result.systems) > 1:
            title = f"places that a system may have, all right at once in {level} of samples, by "
            title += f"{describe_families(evidence)[1]}; * may be the best"
            yield Heading("Ranks", "n p", "ranks", title)
        if self._has_judged_shares:
            title = "how much of what the measure looks at is judged"
            yield Heading("Judged", "n share", "judged", title)
        if len(result.systems) > 1:
            yield Heading(element("span", "A B", title="compare"), "pick js")

    @property
    def _probability_headings(self) -> Sequence[tuple[str, str, str, str]]:
        """The headings of the probabilities of better and, with a rope, same; none without them."""
        pairs, rope = self.result.pairs, self.evidence.comparison.settings.rope
        if all(pair.probability_better is None for pair in pairs):
            return []
        title = "probability that it is better than the baseline"
        better_heading = ("P(better)", "n p", "better", title)
        title = f"probability that it is within {rope or 0:g} of it"
        same_heading = ("P(same)", "n p", "same", title)
        return [better_heading, same_heading] if rope else [better_heading]

    @property
    def _has_judged_shares(self) -> bool:
        return any(system.judged is not None for system in self.result.systems)

    @property
    def _tick_markup(self) -> Markup:
        texts = (
            element("text", format_short(tick), x=self.axis.position(tick), y=11, class_="tick")
            for tick in self.axis.ticks
        )
        axis_svg = element("svg", *texts, height=16, width="100%", aria_hidden="true")
        return join_markup([axis_svg, element("span", "Mean and interval", class_="sr")])

    def _system_row(self, place: int, system: System, pair: Pair | None) -> Markup:
        is_indistinct = system.name in self.evidence.indistinct_systems(self.result.measure)
        system_index = self.evidence.systems.index(system.name)
        return element(
            "tr",
            element("td", f"{place}", class_="n mut rank"),
            self._name_cell(system, is_indistinct),
            element("td", self._draw_interval(system), class_="plot"),
            self._mean_cell(system),
            element("td", _interval_text(system), class_="n of-mean mut"),
            *self._baseline_cells(pair),
            *self._letter_cells(system_index),
            *self._more_baseline_cells(system.name),
            *self._rank_cells(system.name),
            *self._judged_cells(system),
            *self._choice_cells(system, system_index),
            data_s=system_index,
        )

    def _name_cell(self, system: System, is_indistinct: bool) -> Markup:
        name = element("span", name_element(system.name), class_="nm", title=system.name[:300])
        title = "no evidence of a difference from the first, by the test of all pairs"
        mark = element("span", "≈1", class_="eq", title=title) if is_indistinct else NO_MARKUP
        return element("th", name, mark, scope="row", class_="l")

    def _mean_cell(self, system: System) -> Markup:
        is_best = system.mean == self.result.ranked_systems[0].mean and len(self.result.systems) > 1
        text = format_digits(system.mean)
        return element(
            "td",
            text,
            class_="n v best" if is_best else "n v",
            data_v=repr(system.mean),
            data_judged=None if system.judged is None else format_share(system.judged),
        )

    def _draw_interval(self, system: System) -> Markup:
        """Return a system's mean and interval on the axis, with a line at the baseline's mean."""
        marks = [_vertical_line(self.axis.position(tick), "grid") for tick in self.axis.ticks]
        baseline = next(
            (system for system in self.result.systems if system.name == self.evidence.baseline),
            None,
        )
        if baseline is not None:
            marks.append(_vertical_line(self.axis.position(baseline.mean), "base"))
        if system.low is not None and system.high is not None:
            width = percent(system.high - system.low, self.axis.high - self.axis.low)
            x = self.axis.position(system.low)
            marks.append(element("rect", x=x, width=width, y=14, height=8, rx=4, class_="ci"))
        marks.append(
            element("circle", cx=self.axis.position(system.mean), cy=18, r=4.5, class_="dot")
        )
        return element("svg", *marks, height=_ROW_HEIGHT, width="100%", aria_hidden="true")

    def _baseline_cells(self, pair: Pair | None) -> Iterator[Markup]:
        """Yield the cells of a system's pair with the baseline, or, without a pair, of itself."""
        if self.evidence.baseline is None:
            return
        has_p = self.evidence.comparison.settings.test != "bayes"
        if pair is None:
            yield element("td", element("span", "baseline", class_="mut"), class_="n vs")
            yield from [element("td", class_="n p")] * (has_p + len(self._probability_headings))
            yield element("td", class_="wtl mid")
            return
        yield self._difference_cell(pair)
        if has_p:
            p = pair.p_adjusted
            yield element("td", format_p(p), class_="n p", data_v=None if p is None else repr(p))
        probabilities = (pair.probability_better, pair.probability_same)
        for probability, _ in zip(probabilities, self._probability_headings, strict=False):
            yield element(
                "td", format_digits(probability, 2), class_="n p", data_v=repr(probability)
            )
        yield element("td", _win_bar(pair), class_="wtl mid")

    def _difference_cell(self, pair: Pair) -> Markup:
        is_unplaced = {pair.system, pair.other} in self.evidence.unplaced_pairs[self.result.measure]
        css_class, sign, title = _MARKS["unplaced" if is_unplaced else pair.verdict]
        mark = element("span", sign, class_=css_class, title=title)
        difference = pair.ratio if pair.scale == "ratio" else pair.difference
        return element("td", format_change(pair), " ", mark, class_="n vs", data_v=repr(difference))

    def _more_baseline_cells(self, system: str) -> Iterator[Markup]:
        for baseline in self.evidence.more_baselines:
            pair = self.result.pair_of_names.get((system, baseline))
            yield element("td", class_="n vs") if pair is None else self._difference_cell(pair)

    def _rank_cells(self, system: str) -> Iterator[Markup]:
        ranks = self.evidence.pair_comparison[self.result.measure].ranks
        if ranks and len(self.result.systems) > 1:
            yield element("td", str(ranks[system]), class_="n p")

    def _letter_cells(self, system_index: int) -> Sequence[Markup]:
        letters = self.result.letters
        if self.evidence.baseline is not None or letters is None or len(letters) < 2:
            return []
        return [element("td", letters[system_index], class_="l letters")]

    def _judged_cells(self, system: System) -> Sequence[Markup]:
        if not self._has_judged_shares:
            return []
        if system.judged is None:
            return [element("td", class_="n share")]
        share_text, title = format_share(system.judged), "less judged than another system"
        is_less = system.judged_lags
        mark = element(
            "span",
            share_text,
            class_="warn" if is_less else None,
            title=title if is_less else None,
        )
        return [element("td", mark, class_="n share", data_v=repr(system.judged))]

    def _choice_cells(self, system: System, system_index: int) -> Sequence[Markup]:
        """Return the cell in which a reader chooses a system as A or B; none for one system."""
        if len(self.result.systems) == 1:
            return []
        labels = (
            element(
                "label",
                element("span", f"{side}: ", name_element(system.name, 80), class_="sr"),
                element("input", type="radio", name=f"side-{side.lower()}", value=system_index),
            )
            for side in ("A", "B")
        )
        return [element("td", *labels, class_="pick js")]


def _vertical_line(x: str, kind: str) -> Markup:
    return element("line", x1=x, x2=x, y1=0, y2="100%", class_=kind)


def _interval_text(system: System) -> str:
    if system.low is None or system.high is None:
        return ""
    return format_interval(system.low, system.high)


def _win_bar(pair: Pair) -> Markup:
    """Return the queries won, tied and lost: a bar of their shares, and the numbers."""
    bars, x = [], 0
    for n, kind in ((pair.wins, "fa"), (pair.ties, "ft"), (pair.losses, "fb")):
        bars.append(
            element("rect", x=percent(x, pair.n), width=percent(n, pair.n), height=8, class_=kind)
        )
        x += n
    bar = element("svg", *bars, width="100%", height=8, aria_hidden="true")
    return join_markup([bar, element("span", f"{pair.wins} / {pair.ties} / {pair.losses}")])
