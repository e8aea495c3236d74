// The leaderboard: Python wrote it for the first measure; here its cells follow the measure chosen.

const board = byId("board");
let boardMeasure = 0;

/** Every digit of a cell's number; none where there is no number. */
function value(cell, number) {
  if (number == null) delete cell.dataset.v;
  else cell.dataset.v = String(number);
}

function probabilityCell(cell, number) {
  cell.replaceChildren(number == null ? "" : fixed(number, 2));
  value(cell, number);
}

/** How the cells of each column are written, by the key of its head. */
const CELLS = {
  rank: (cell, row, place) => cell.replaceChildren(String(place + 1)),
  mean: (cell, row, place) => {
    cell.replaceChildren(fixed(row.mean, DECIMALS));
    cell.dataset.v = String(row.mean);
    if (row.judged != null) cell.dataset.judged = percentOf(row.judged);
    cell.classList.toggle("best", two && row.mean === content.board[choice.measure][0].mean);
  },
  low: (cell, row) =>
    cell.replaceChildren(
      row.low == null ? "" : fixed(row.low, 3) + (row.low < 0 ? " to " : "–") + fixed(row.high, 3),
    ),
  diff: (cell, row) => {
    const change = row.diff;
    if (change == null) return;
    const [kind, mark, title] = {
      1: ["up", "▲", "significantly better"],
      "-1": ["down", "▼", "significantly worse"],
      0: ["none", "○", "no evidence of a difference"],
      null: ["none", "?", "cannot be placed: too little is judged"],
    }[row.verdict];
    cell.replaceChildren(`${changeText(change, choice.measure)} `, make("span", { class: kind, title }, mark));
    cell.dataset.v = String(change);
  },
  p_adjusted: (cell, row) => {
    if (row.p_adjusted == null) cell.replaceChildren("");
    else cell.replaceChildren(row.p_adjusted < 0.00005 ? "<0.0001" : row.p_adjusted.toFixed(4));
    value(cell, row.p_adjusted);
  },
  wins: (cell, row) => {
    const { wins, ties, losses } = row;
    if (wins == null) return;
    const n = wins + ties + losses;
    const part = (from, size, kind) =>
      draw("rect", { x: `${(100 * from) / n}%`, width: `${(100 * size) / n}%`, height: 8, class: kind });
    const bars = [part(0, wins, "fa"), part(wins, ties, "ft"), part(wins + ties, losses, "fb")];
    const svg = draw("svg", { width: "100%", height: 8, "aria-hidden": "true" }, bars);
    cell.replaceChildren(svg, make("span", {}, `${wins} / ${ties} / ${losses}`));
  },
  better: (cell, row) => probabilityCell(cell, row.better),
  same: (cell, row) => probabilityCell(cell, row.same),
  letters: (cell, row) => cell.replaceChildren(row.letters),
  ranks: (cell, row) => cell.replaceChildren(row.ranks_text ?? ""),
  judged: (cell, row) => {
    if (row.judged == null) cell.replaceChildren("");
    else {
      const less = row.less ? { class: "warn", title: "less judged than another system" } : {};
      cell.replaceChildren(make("span", less, percentOf(row.judged)));
    }
    value(cell, row.judged);
  },
};

/** The picture of the intervals, on an axis that all rows share. */
function intervalPicture(row, { x, marks, base }) {
  const upright = (value, kind) => draw("line", { x1: x(value), x2: x(value), y1: 0, y2: "100%", class: kind });
  const svg = draw("svg", { height: 36, width: "100%", "aria-hidden": "true" });
  svg.append(...marks.map((mark) => upright(mark, "grid")));
  if (base) svg.append(upright(base.mean, "base"));
  if (row.low != null) {
    const width = `${parseFloat(x(row.high)) - parseFloat(x(row.low))}%`;
    svg.append(draw("rect", { x: x(row.low), width, y: 14, height: 8, rx: 4, class: "ci" }));
  }
  svg.append(draw("circle", { cx: x(row.mean), cy: 18, r: 4.5, class: "dot" }));
  return svg;
}

/** From the lowest end of an interval to the highest, and a little more. */
function intervalAxis(rows) {
  const ends = rows.flatMap(({ mean, low, high }) => [mean, low, high]).filter((one) => one != null);
  const pad = 0.04 * (Math.max(...ends) - Math.min(...ends)) || 0.05;
  const [low, high] = [Math.min(...ends) - pad, Math.max(...ends) + pad];
  const share = scale(low, high, 0, 100);
  const base = rows.find((row) => row.s === content.baseline);
  return { x: (value) => `${share(value).toFixed(3)}%`, marks: ticks(low, high), base };
}

/** Write the cells of another measure, the best system first. */
function showBoard() {
  if (boardMeasure === choice.measure) return;
  boardMeasure = choice.measure;
  const rows = content.board[choice.measure];
  const axis = intervalAxis(rows);
  const heads = [...board.tHead.rows[0].cells];
  const byKey = (key) => heads.findIndex((head) => head.dataset.key === key);
  const meanHead = heads[byKey("mean")];
  (meanHead?.querySelector("button") ?? meanHead)?.replaceChildren(measureName(choice.measure));
  const plot = heads.findIndex((head) => head.classList.contains("plot"));
  heads[plot]?.querySelector("svg")?.replaceWith(
    draw(
      "svg",
      { height: 16, width: "100%", "aria-hidden": "true" },
      axis.marks.map((mark) => label(axis.x(mark), 11, plain(mark), "tick")),
    ),
  );
  for (const headline of document.querySelectorAll("h1 > [data-m]"))
    headline.hidden = Number(headline.dataset.m) !== choice.measure;
  byId("means-said").textContent = shown(measures[choice.measure].said, 400);
  const alike = new Set(content.alike[choice.measure]);
  const lines = new Map([...board.tBodies[0].rows].map((line) => [Number(line.dataset.s), line]));
  rows.forEach((row, place) => {
    const line = lines.get(row.s);
    if (!line) return;
    heads.forEach(({ dataset: { key } }, column) => {
      const cell = line.cells[column];
      if (/^vs\d/.test(key)) CELLS.diff(cell, { diff: row[key], verdict: row[`${key}_verdict`] });
      else CELLS[key]?.(cell, row, place);
    });
    line.cells[plot]?.replaceChildren(intervalPicture(row, axis));
    line.querySelector(".eq")?.remove();
    if (alike.has(row.s)) {
      const title = "no evidence of a difference from the first, by the test of all pairs";
      line.querySelector("th").append(make("span", { class: "eq", title }, "≈1"));
    }
    board.tBodies[0].append(line);
  });
  sortedBy(board, "mean");
}

/** Mark the rows of A and B, and check their buttons. */
function markBoard() {
  for (const line of board.tBodies[0].rows) {
    const system = Number(line.dataset.s);
    line.classList.toggle("is-a", system === choice.a);
    line.classList.toggle("is-b", system === choice.b);
    for (const input of line.querySelectorAll("input[type=radio]"))
      input.checked = system === (input.name === "side-a" ? choice.a : choice.b);
  }
}

function startBoard() {
  board.addEventListener("change", ({ target }) => {
    const system = Number(target.value);
    if (target.name === "side-a") chooseSide("a", system);
    else if (target.name === "side-b") chooseSide("b", system);
  });
}
