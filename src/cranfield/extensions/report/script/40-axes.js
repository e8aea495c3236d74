// What charts share: the drawing area, axes, and where the pointer is in them.

/** A drawing of a figure's width; `said` are its numbers in a sentence. */
function canvas(figure, height, said) {
  const width = figure.clientWidth || 700;
  const svg = draw("svg", {
    viewBox: `0 0 ${width} ${Math.round(height)}`,
    height: Math.round(height),
    role: "img",
    "aria-label": said,
  });
  return { svg, width };
}

/** A function from values to pixels. */
const scale = (low, high, from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);

/** Lines across at some values, each with its label at the left. */
function levels(svg, values, y, left, right, text = plain) {
  for (const value of values) {
    svg.append(
      draw("line", { x1: left, x2: right, y1: y(value), y2: y(value), class: "axis" }),
      label(left - 7, y(value) + 4, text(value), "end"),
    );
  }
}

/** Where a pointer is, in the units of a drawing, which a narrow window or print may have scaled. */
function pointed(svg, event) {
  const box = svg.getBoundingClientRect();
  const { width, height } = svg.viewBox.baseVal;
  return [
    ((event.clientX - box.left) / box.width) * width,
    ((event.clientY - box.top) / box.height) * height,
  ];
}

/** Follow the pointer over a drawing: `at(x, y)` gives what is there, `show` and `click` use it. */
function follow(svg, at, show, click, leave = () => {}) {
  svg.addEventListener("pointermove", (event) => {
    const found = at(...pointed(svg, event));
    if (found == null) hush();
    else hint(event, show(found));
    svg.style.cursor = found == null || !click ? "" : "pointer";
  });
  svg.addEventListener("pointerleave", () => {
    hush();
    leave();
  });
  if (click)
    svg.addEventListener("click", (event) => {
      const found = at(...pointed(svg, event));
      if (found != null) click(found);
    });
}

/** The colour of a system's marks: A, B, or any other. */
const toneOf = (system) => (system === choice.a ? "a" : system === choice.b ? "b" : "0");
const textTone = (system) => ({ a: " strong ta", b: " strong tb", 0: "" })[toneOf(system)];

/** The room that names have at the left of a chart with a row for each system. */
const nameRoom = (width) => (width < 560 ? 104 : 170);
const nameLength = (width) => (width < 560 ? 15 : 24);
