"""Make the pictures of the report: python scripts/report_pictures.py.

`docs/pictures/report.png` and `report-dark.png` show the page of the demonstration, as `cranfield
demo --report` makes it, in headless Chromium (of the distribution's packages). A browser and its
fonts differ between machines, and so do the pictures: run this when the page looks different;
`make_docs.py` does not change them.
"""

import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from helpers.browser import Browser

from cranfield import compare, demo, report

ROOT = Path(__file__).parent.parent
SIZE = (1280, 1000)


def main() -> None:
    """Write the pictures, light and dark."""
    warnings.simplefilter("ignore")
    comparison = compare(demo.QRELS, list(demo.RUNS), "nDCG@10 AP RR")
    page = report(comparison, query_texts=demo.queries(), title="The demonstration")
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        path = Path(folder) / "report.html"
        page.save(path)
        for scheme, name in (("light", "report.png"), ("dark", "report-dark.png")):
            with browser.open(path, size=SIZE, scheme=scheme) as browser_page:
                browser_page.settle()
                picture = ROOT / "docs" / "pictures" / name
                browser_page.screenshot(picture)
                print(f"wrote {picture.relative_to(ROOT)}, {picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
