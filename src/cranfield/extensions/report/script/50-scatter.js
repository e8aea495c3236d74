// A's score against B's, a point for each query; of many queries, squares.

const MOST_POINTS = 1500;
const SQUARES = 40; // on each side

let ringScatter = () => {};

function scatter() {
  const figure = byId("scatter");
  const [a, b] = [scoresOf(choice.a), scoresOf(choice.b)];
  let { low, high } = scored();
  for (let query = 0; query < N; query++) {
    low = Math.min(low, a[query], b[query]);
    high = Math.max(high, a[query], b[query]);
  }
  const wide = figure.clientWidth || 340;
  const side = Math.min(wide - 50, 256);
  const [left, top] = [40, 24];
  const pair = pairOf(choice.a, choice.b, choice.scored);
  const { svg } = canvas(
    figure,
    top + side + 40,
    `${measureName(choice.scored)} of ${systemName(choice.a, 60)} (up) against ${systemName(choice.b, 60)} ` +
      `(across) on ${many(N, "query", "queries")}` +
      (pair ? `: better on ${whole(pair.wins)}, the same on ${whole(pair.ties)}, worse on ${whole(pair.losses)}` : ""),
  );
  const x = scale(low, high, left, left + side);
  const y = scale(low, high, top + side, top);
  levels(svg, ticks(low, high, 4), y, left, left + side);
  for (const value of ticks(low, high, 4))
    svg.append(
      draw("line", { x1: x(value), x2: x(value), y1: top, y2: top + side, class: "axis" }),
      label(x(value), top + side + 16, plain(value), "mid"),
    );
  svg.append(
    draw("line", { x1: x(low), y1: y(low), x2: x(high), y2: y(high), class: "zero" }),
    label(left + side, top + side + 33, `${systemName(choice.b, 34)} →`, "strong tb end"),
    label(left - 28, 12, `↑ ${systemName(choice.a, 34)}`, "strong ta"),
  );
  const at = { x: (query) => x(b[query]), y: (query) => y(a[query]) };
  if (N <= MOST_POINTS) points(svg, at);
  else {
    squares(svg, { a, b, low, high, left, top, side });
    svg.append(label(left, top + side + 33, "darker: more queries"));
  }
  const ring = draw("circle", { r: 7, class: "ring" });
  svg.append(ring);
  ringScatter = () => {
    ring.setAttribute("cx", String(at.x(choice.query)));
    ring.setAttribute("cy", String(at.y(choice.query)));
  };
  ringScatter();
  figure.replaceChildren(svg);
}

/** A point for each query; the one nearest to the pointer is described, and a click chooses it. */
function points(svg, at) {
  const radius = N > 200 ? 2.5 : 4.5;
  const marks = draw("g");
  for (let query = 0; query < N; query++)
    marks.append(
      draw("circle", {
        cx: at.x(query),
        cy: at.y(query),
        r: radius,
        class: `point fill-${sideOf(query)}`,
        "data-q": query,
      }),
    );
  svg.append(marks);
  const nearest = (px, py) => {
    let [found, best] = [null, 14 ** 2];
    for (let query = 0; query < N; query++) {
      const away = (at.x(query) - px) ** 2 + (at.y(query) - py) ** 2;
      if (away < best) [found, best] = [query, away];
    }
    return found;
  };
  follow(svg, nearest, about, (query) => chooseQuery(query, true));
}

/** Squares, the darker the more queries are in them. */
function squares(svg, { a, b, low, high, left, top, side }) {
  const size = side / SQUARES;
  const place = (value) => Math.min(SQUARES - 1, Math.floor(((value - low) / (high - low || 1)) * SQUARES));
  const counts = new Map();
  for (let query = 0; query < N; query++) {
    const key = place(b[query]) * SQUARES + place(a[query]);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const most = Math.max(...counts.values());
  for (const [key, n] of counts) {
    const [column, row] = [Math.floor(key / SQUARES), key % SQUARES];
    const tone = row === column ? "0" : row > column === scored().rising ? "a" : "b";
    svg.append(
      draw("rect", {
        x: left + column * size,
        y: top + (SQUARES - 1 - row) * size,
        width: size,
        height: size,
        class: `fill-${tone}`,
        opacity: (0.15 + 0.85 * Math.sqrt(n / most)).toFixed(2),
      }),
    );
  }
  const under = (px, py) => {
    const [column, row] = [Math.floor((px - left) / size), SQUARES - 1 - Math.floor((py - top) / size)];
    const n = counts.get(column * SQUARES + row);
    return n && row >= 0 && row < SQUARES ? { column, row, n } : null;
  };
  const range = (from) =>
    `${scoreText(low + ((high - low) * from) / SQUARES)} to ${scoreText(low + ((high - low) * (from + 1)) / SQUARES)}`;
  follow(svg, under, ({ column, row, n }) => [
    many(n, "query", "queries"),
    `${systemName(choice.a, 40)}  ${range(row)}`,
    `${systemName(choice.b, 40)}  ${range(column)}`,
  ]);
}
