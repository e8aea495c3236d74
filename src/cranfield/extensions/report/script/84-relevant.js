// Whether the number of relevant documents matters: scores against the number of relevant documents.

const MOST_PAIRS = 400; // queries; of more, groups of them by that number
const GROUPS = 8;

function relevant() {
  const figure = byId("relevant");
  const numbers = relevantTo(choice.scored);
  const chosen = [choice.a, choice.b].filter((system) => system != null);
  const most = numbers.reduce((n, one) => Math.max(n, one), 0);
  const height = 290;
  const { svg, width } = canvas(figure, height, "");
  let { low, high } = scored();
  for (const system of chosen)
    for (const value of scoresOf(system)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  const [left, right, top, bottom] = [44, width - 12, 20, height - 40];
  const y = scale(low, high, bottom, top);
  const least = numbers.reduce((n, one) => Math.min(n, one), most);
  const along = scale(Math.log1p(least), Math.log1p(most), left + 14, right - 14);
  const x = (n) => along(Math.log1p(n));

  levels(svg, ticks(low, high, 5), y, left, right);
  svg.append(
    label(left - 30, 10, measureName(choice.scored, 30), "name"),
    label((left + right) / 2, height - 4, "relevant documents of the query", "mid"),
  );
  if (N <= MOST_PAIRS) {
    numberTicks(svg, x, [least, most], bottom);
    dumbbells(svg, numbers, chosen, x, y);
  } else groups(svg, numbers, chosen, y, { left, right, bottom });
  svg.setAttribute("aria-label", relevantSentence(numbers, chosen));
  byId("amount-said").textContent =
    N <= MOST_PAIRS
      ? "Each query by the number of its relevant documents" + (two ? `: the score of ${systemName(choice.a)}, that of ${systemName(choice.b)}, and the line between them.` : ".")
      : `${many(N, "query", "queries")} in groups by the number of their relevant documents: ` +
        "the box holds the middle half, the line goes from 5 % to 95 %, the bar is the median.";
  figure.replaceChildren(svg);
}

/** Half of the queries have few relevant documents, half have many: the medians of both. */
function relevantSentence(numbers, chosen) {
  const middle = quantile(Float64Array.from(numbers).sort(), 0.5);
  const median = (system, keep) => {
    const values = scoresOf(system).filter((_, query) => keep(numbers[query])).sort();
    return values.length ? scoreText(quantile(values, 0.5)) : "none";
  };
  const said = chosen.map(
    (system) =>
      `${systemName(system, 40)}: median ${median(system, (n) => n <= middle)} of queries with at most ` +
      `${plain(middle)} relevant documents, ${median(system, (n) => n > middle)} of those with more`,
  );
  return `${measureName(choice.scored)} against the number of relevant documents. ${said.join("; ")}`;
}

function numberTicks(svg, x, [least, most], bottom) {
  let last = -Infinity;
  const rounded = [0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];
  const even = ticks(least, Math.max(most, least + 1), 8).filter(Number.isInteger);
  const few = rounded.filter((n) => n >= least && n <= most).length < 3;
  for (const n of few ? even : rounded) {
    if (n < least || n > most || x(n) - last < 26) continue;
    last = x(n);
    svg.append(label(x(n), bottom + 17, whole(n), "mid"));
  }
}

/** Two dots and the line between them for each query; queries with the same number are side by side. */
function dumbbells(svg, numbers, chosen, x, y) {
  const before = new Map();
  const places = Float64Array.from(queries, (_, query) => {
    const n = before.get(numbers[query]) ?? 0;
    before.set(numbers[query], n + 1);
    return x(numbers[query]) + (n % 2 ? 1 : -1) * Math.min(13, 2.6 * Math.ceil(n / 2));
  });
  for (let query = 0; query < N; query++) {
    const at = places[query];
    if (two) {
      const [one, other] = [y(scoreOf(choice.a, query)), y(scoreOf(choice.b, query))];
      svg.append(draw("line", { x1: at, x2: at, y1: one, y2: other, class: `line-${sideOf(query)}`, opacity: 0.45 }));
    }
    for (const system of chosen.slice().reverse())
      svg.append(draw("circle", { cx: at, cy: y(scoreOf(system, query)), r: 3.4, class: `fill-${toneOf(system)}` }));
  }
  const nearest = (px, py) => {
    let [found, best] = [null, 14 ** 2];
    for (let query = 0; query < N; query++)
      for (const system of chosen) {
        const away = (places[query] - px) ** 2 + (y(scoreOf(system, query)) - py) ** 2;
        if (away < best) [found, best] = [query, away];
      }
    return found;
  };
  const tell = (query) => [...about(query), many(numbers[query], "relevant document")];
  follow(svg, nearest, tell, (query) => chooseQuery(query, true));
}

/** Queries in groups of about the same size by their number of relevant documents. */
function groups(svg, numbers, chosen, y, { left, right, bottom }) {
  const sorted = Float64Array.from(numbers).sort();
  const bounds = [...new Set([...Array(GROUPS).keys()].map((i) => sorted[Math.floor((i * N) / GROUPS)]))];
  const found = bounds.map((from, i) => {
    const before = bounds[i + 1] ?? Infinity;
    const members = [...Array(N).keys()].filter((query) => numbers[query] >= from && numbers[query] < before);
    const to = before === Infinity ? sorted[N - 1] : before - 1;
    return { members, text: from === to ? whole(from) : `${whole(from)}–${whole(to)}` };
  });
  const step = (right - left) / found.length;
  found.forEach(({ members, text }, i) => {
    const middle = left + (i + 0.5) * step;
    svg.append(label(middle, bottom + 17, `${text}`, "mid"));
    chosen.forEach((system, j) => {
      const values = Float64Array.from(members, (query) => scoreOf(system, query)).sort();
      upright(svg, values, middle + (j - (chosen.length - 1) / 2) * Math.min(34, step * 0.36), y, toneOf(system));
    });
  });
  const under = (px) => found[Math.floor((px - left) / step)] ?? null;
  follow(svg, under, ({ members, text }) => [
    `${text} relevant: ${many(members.length, "query", "queries")}`,
    ...chosen.map((system) => {
      const values = Float64Array.from(members, (query) => scoreOf(system, query)).sort();
      return `${systemName(system, 40)}  median ${scoreText(quantile(values, 0.5))}`;
    }),
  ]);
}

/** An upright box: quarters, median, and the line from 5 % to 95 %. */
function upright(svg, values, x, y, tone) {
  const [q05, q25, q50, q75, q95] = [0.05, 0.25, 0.5, 0.75, 0.95].map((share) => y(quantile(values, share)));
  svg.append(
    draw("line", { x1: x, x2: x, y1: q05, y2: q95, class: `line-${tone}` }),
    draw("rect", { x: x - 9, width: 18, y: q75, height: Math.max(1, q25 - q75), rx: 3, class: `fill-${tone}`, opacity: 0.3 }),
    draw("line", { x1: x - 9, x2: x + 9, y1: q50, y2: q50, class: `line-${tone}`, "stroke-width": 2.5 }),
  );
}
