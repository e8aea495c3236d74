"""The headline: it says how much was judged, and calls no system best that is little judged."""

import re
from itertools import permutations

from helpers.judged_runs import QRELS, make_runs
from helpers.page_parts import Element, Page

from cranfield import Comparison, compare, paper_table, report


def make_page(comparison: Comparison) -> Page:
    return Page(report(comparison, worksheets=0).html)


def headlines(page: Page) -> list[Element]:
    """Return the headline of each measure, in their order."""
    spans = page.root.find_all("h1")[0].find_all("span")
    return [span for span in spans if "data-m" in span.attributes]


def headline(**rank_and_share: tuple[int, int]) -> str:
    comparison = compare(QRELS, make_runs(**rank_and_share), "RR@10", baseline="cur")
    return headlines(make_page(comparison))[0].text


def test_enough_is_judged() -> None:
    for percents in ((95, 100), (82, 85), (100, 100)):
        text = headline(ltr=(1, percents[0]), cur=(2, percents[1]))
        assert text.startswith("ltr scores highest: RR@10 1.000"), text
        assert "judged" not in text


def test_less_of_the_leader_is_judged() -> None:
    text = headline(ltr=(1, 94), cur=(2, 100))
    assert text.startswith("ltr scores highest: RR@10 1.000")
    assert text.endswith(". 94% of its first 10 are judged, 100% of cur's.")
    text = headline(ltr=(1, 13), cur=(2, 13))
    assert text.startswith("ltr scores highest: RR@10 1.000")
    assert text.endswith(". 13% of its first 10 are judged.")


def test_a_leader_that_is_little_judged_is_not_called_best() -> None:
    text = headline(ltr=(1, 79), cur=(2, 100), old=(5, 100))
    assert text == (
        "No system can be called best. ltr has the highest RR@10, 1.000, but 79% of its first 10 "
        "are judged; of cur's, 100%. Judge more: cranfield pool."
    )


def test_another_system_that_is_little_judged_cannot_be_placed() -> None:
    runs = make_runs(cur=(1, 100), old=(2, 100), ltr=(3, 10), new=(4, 20))
    comparison = compare(QRELS, runs, "RR@10", baseline="old")
    page = make_page(comparison)
    text = headlines(page)[0].text
    assert "It differs significantly from the other system that can be placed." in text  # old
    assert text.endswith(" ltr and new cannot be placed: 10% to 20% of their first 10 are judged.")
    assert page.archive["alike"] == [[]]
    names = page.archive["systems"]
    marks = {}
    for row in page.root.find_by_id("board").find_all("tr")[1:]:
        (cell,) = (cell for cell in row.find_all("td") if "vs" in cell.classes)
        marks[names[int(row.attributes["data-s"] or "")]] = cell.text.split()[-1]
    assert marks == {"cur": "▲", "old": "baseline", "ltr": "?", "new": "?"}
    verdict_of_row = {names[row["s"]]: row["verdict"] for row in page.archive["board"][0]}
    assert verdict_of_row == {"cur": 1, "old": None, "ltr": None, "new": None}
    verdict_of_pair = {(names[row[0]], names[row[1]]): row[6] for row in page.archive["pairs"][0]}
    assert verdict_of_pair.pop(("cur", "old")) == 1
    assert set(verdict_of_pair.values()) == {None}
    assert not any("ranks" in row for row in page.archive["board"][0]), "of ltr and new unknown"
    note = "Little judged, cannot be placed: ltr 10%, new 20% (most: cur 100%)."
    assert any(table_note.text.startswith(note) for table_note in paper_table(comparison).notes)


def test_a_slice_has_no_verdict_on_a_system_that_is_little_judged() -> None:
    runs = make_runs(cur=(1, 100), old=(2, 100), ltr=(3, 10))
    slices = {"half": {query: "ab"[i % 2] for i, query in enumerate(QRELS)}}
    page = make_page(compare(QRELS, runs, "RR@10", baseline="old", slices=slices))
    names = page.archive["systems"]
    for slice_row in page.archive["slices"]:
        verdict_of_row = {names[row["s"]]: row["verdict"] for row in slice_row["rows"]}
        assert verdict_of_row["ltr"] is None
        assert verdict_of_row["cur"] is not None


def test_the_only_system_that_cannot_be_placed() -> None:
    text = headline(cur=(1, 100), ltr=(3, 10))
    assert text.startswith("cur scores highest: RR@10 1.000 ")
    assert text.endswith(" ltr cannot be placed: 10% of its first 10 are judged.")
    assert "signific" not in text


def test_a_system_that_its_bounds_place_is_placed() -> None:
    """The P@10 of cur can but grow, and that of ltr is known."""
    irrelevant_docs = [f"n{j}" for j in range(10)]
    runs = {**make_runs(cur=(1, 79)), "ltr": dict.fromkeys(QRELS, irrelevant_docs)}
    text = headlines(make_page(compare(QRELS, runs, "P@10")))[0].text
    assert text.startswith("cur scores highest: P@10 0.100")
    assert text.endswith(
        "It differs significantly from the other system. 79% of its first 10 are judged, 100% of "
        "ltr's."
    )


def test_one_run_says_that_little_of_it_is_judged() -> None:
    page = make_page(compare(QRELS, make_runs(ltr=(1, 13)), "RR@10"))
    text = headlines(page)[0].text
    assert re.fullmatch(r"ltr: RR@10 1\.000.*\. 13% of its first 10 are judged\.", text)


def test_each_measure_has_its_headline_and_the_first_is_shown() -> None:
    comparison = compare(QRELS, make_runs(ltr=(1, 79), cur=(2, 100)), "P@1 RR@10 Judged@10")
    spans = headlines(make_page(comparison))
    assert ["hidden" in span.attributes for span in spans] == [False, True, True]
    assert spans[0].text.startswith("ltr scores highest: P@1 1.000")
    assert spans[1].text.startswith("No system can be called best. ltr has the highest RR@10")
    assert spans[2].text.startswith("cur scores highest: Judged@10 1.000")


def test_equal_means_have_one_headline_in_any_order() -> None:
    runs = make_runs(a=(1, 100), b=(1, 40), c=(3, 100))
    texts = set()
    for names in permutations(runs):
        comparison = compare(QRELS, {name: runs[name] for name in names}, "RR@10", baseline="c")
        texts.add(headlines(make_page(comparison))[0].text)
    (text,) = texts
    assert text.startswith("a scores highest: RR@10 1.000")
    assert text.endswith(" b cannot be placed: 40% of its first 10 are judged.")


def test_all_means_equal_is_not_silent_on_judged_shares() -> None:
    for names in (("a", "b"), ("b", "a")):
        runs = make_runs(a=(1, 100), b=(1, 40))
        comparison = compare(QRELS, {name: runs[name] for name in names}, "RR@10")
        assert headlines(make_page(comparison))[0].text == (
            "Both systems have the same RR@10, 1.000. b cannot be placed: 40% of its first 10 are "
            "judged."
        )


def test_two_systems_that_are_first_differ_in_the_plural() -> None:
    runs = make_runs(a=(1, 100), b=(1, 100), c=(3, 100))
    text = headlines(make_page(compare(QRELS, runs, "RR@10")))[0].text
    assert text.startswith("a and b score highest")
    assert "They differ significantly from the other system." in text
