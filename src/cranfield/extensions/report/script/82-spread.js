// How much each system's scores vary: every query's score, and the quarters of them.

const MOST_DOTS = 300; // queries; of more, the line from 5 % to 95 %

let ringSpread = () => {};
const sortedScores = new Map();

/** A system's scores in order; kept, as sorting thousands for each change takes time. */
function sortedOf(system) {
  const key = choice.scored * systems.length + system;
  if (!sortedScores.has(key)) sortedScores.set(key, scoresOf(system).slice().sort());
  return sortedScores.get(key);
}

function spread() {
  const figure = byId("spread");
  const rows = ranked(choice.scored);
  const row = systems.length > 20 ? 17 : 28;
  const height = rows.length * row + 26;
  const best = rows[0];
  const { svg, width } = canvas(
    figure,
    height,
    `Spread of ${measureName(choice.scored)} of each system: the median of ${systemName(best, 40)} is ` +
      `${scoreText(quantile(sortedOf(best), 0.5))}, its middle half from ` +
      `${scoreText(quantile(sortedOf(best), 0.25))} to ${scoreText(quantile(sortedOf(best), 0.75))}`,
  );
  const left = nameRoom(width);
  let { low, high } = scored();
  for (const system of rows) {
    low = Math.min(low, sortedOf(system)[0]);
    high = Math.max(high, sortedOf(system)[N - 1]);
  }
  const x = scale(low, high, left, width - 14);
  for (const value of ticks(low, high, 6))
    svg.append(
      draw("line", { x1: x(value), x2: x(value), y1: 0, y2: height - 22, class: "axis" }),
      label(x(value), height - 6, plain(value), "mid"),
    );
  const rings = rows.map((system, i) => {
    const y = i * row + row / 2;
    svg.append(label(left - 10, y + 4, systemName(system, nameLength(width)), `name end${textTone(system)}`));
    spreadRow(svg, system, y, row, x);
    const ring = draw("circle", { cy: y, r: Math.min(5, row / 3), class: "ring", "stroke-width": 1.5 });
    svg.append(ring);
    return { system, ring };
  });
  ringSpread = () => {
    for (const { system, ring } of rings) ring.setAttribute("cx", String(x(scoreOf(system, choice.query))));
  };
  ringSpread();
  const under = (_, py) => rows[Math.floor(py / row)] ?? null;
  follow(svg, under, spreadLines);
  figure.replaceChildren(svg);
  byId("steady-said").textContent =
    (N <= MOST_DOTS
      ? `Every query's ${measureName(choice.scored)}; `
      : `${measureName(choice.scored)} of ${many(N, "query", "queries")}: the line goes from 5 % to 95 % of them, `) +
    "the box holds the middle half, the bar is the median. The ring is the chosen query.";
}

/** The box, the median, and the dots or the line of one system. */
function spreadRow(svg, system, y, row, x) {
  const values = sortedOf(system);
  const tone = toneOf(system);
  const [q05, q25, q50, q75, q95] = [0.05, 0.25, 0.5, 0.75, 0.95].map((share) => x(quantile(values, share)));
  const half = row * 0.34;
  const box = { x: q25, width: Math.max(1, q75 - q25), y: y - half, height: 2 * half, rx: 3 };
  if (N > MOST_DOTS) svg.append(draw("line", { x1: q05, x2: q95, y1: y, y2: y, class: `line-${tone}` }));
  svg.append(draw("rect", { ...box, class: `fill-${tone}`, opacity: 0.26, "data-s": system }));
  if (N <= MOST_DOTS) {
    const dots = draw("g", { class: `fill-${tone}`, opacity: 0.75 });
    for (const value of values) dots.append(draw("circle", { cx: x(value), cy: y, r: 2.4 }));
    svg.append(dots);
  }
  const bar = { x1: q50, x2: q50, y1: y - half, y2: y + half, class: `line-${tone}` };
  svg.append(draw("line", { ...bar, "stroke-width": 2.5 }));
}

function spreadLines(system) {
  const values = sortedOf(system);
  const at = (share) => scoreText(quantile(values, share));
  return [
    systemName(system, 60),
    `median ${at(0.5)}, middle half ${at(0.25)} to ${at(0.75)}`,
    `lowest ${at(0)}, highest ${at(1)}`,
    `the chosen query ${scoreText(scoreOf(system, choice.query))}`,
  ];
}
