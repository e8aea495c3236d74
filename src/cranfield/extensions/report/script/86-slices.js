// The systems on each slice: a small leaderboard for each, all on one axis.

const MOST_IN_PANEL = 12; // systems

function slices() {
  const every = content.slices;
  const kept = panelSystems();
  const ends = every.flatMap(({ rows }) => rows.flatMap(({ mean, low, high }) => [mean, low, high]));
  const known = ends.filter((value) => value != null);
  const axis = [Math.min(...known), Math.max(...known)];
  const parts = [];
  for (const title of new Set(every.map((one) => one.label))) {
    if (title != null) parts.push(make("h3", {}, name(title, 80)));
    const panels = make("div", { class: "panels" });
    parts.push(panels);
    // Panels are drawn once they have their width: see below.
    for (const one of every.filter((slice) => slice.label === title)) {
      const head = make("h4", {}, name(one.slice, 60), make("span", {}, many(one.queries, "query", "queries")));
      panels.append(make("div", { class: "panel" }, head));
    }
  }
  byId("slices").replaceChildren(...parts);
  const panels = [...byId("slices").querySelectorAll(".panel")];
  const inOrder = [...new Set(every.map((one) => one.label))].flatMap((of) => every.filter((one) => one.label === of));
  const widths = panels.map((panel) => panel.clientWidth || 340);
  inOrder.forEach((one, i) => panels[i].append(panelChart(one, kept, axis, widths[i])));
  const marks = content.baseline == null ? "" : ` ▲ significantly better, ▼ significantly worse than ${systemName(content.baseline, 40)}, ○ no evidence of a difference.`;
  const left = systems.length - kept.length;
  byId("parts-said").textContent =
    `Mean ${measureName(0)} on the queries of each slice, with its ${content.level} interval.${marks}` +
    (left > 0 ? ` ${systemName(choice.a)}, ${systemName(choice.b)} and the best others: ${many(left, "system is", "systems are")} left out here.` : "");
}

/** The systems of a panel, in the order of the leaderboard: all, or A, B and the best. */
function panelSystems() {
  const all = ranked(0);
  const chosen = [choice.a, choice.b].filter((system) => system != null);
  const best = all.filter((system) => !chosen.includes(system));
  const kept = new Set([...chosen, ...best.slice(0, MOST_IN_PANEL - chosen.length)]);
  return all.filter((system) => kept.has(system));
}

/** A row for each system: its name, its interval, its mean, and what the test says. */
function panelChart({ slice, rows, queries: n }, kept, [low, high], width) {
  const [row, left, right] = [23, 112, width - 74];
  const x = scale(low, high, left, right);
  const height = kept.length * row + 20;
  const found = kept.map((system) => rows.find((one) => one.s === system)).filter(Boolean);
  const said = found.map(({ s, mean }) => `${systemName(s, 40)} ${fixed(mean, DECIMALS)}`);
  const svg = draw("svg", {
    viewBox: `0 0 ${width} ${height}`,
    height,
    role: "img",
    "aria-label": `Mean ${measureName(0)} on ${many(n, "query", "queries")} of ${shown(slice, 60)}: ${said.join(", ")}`,
  });
  for (const value of ticks(low, high, Math.floor((right - left) / 34)))
    svg.append(
      draw("line", { x1: x(value), x2: x(value), y1: 2, y2: height - 18, class: "axis" }),
      label(x(value), height - 4, plain(value), "mid"),
    );
  found.forEach((one, i) => {
    const y = 4 + i * row + row / 2;
    const tone = toneOf(one.s);
    svg.append(label(left - 8, y + 4, systemName(one.s, 16), `name end${textTone(one.s)}`));
    if (one.low != null) {
      const span = { x: x(one.low), width: Math.max(1, x(one.high) - x(one.low)), y: y - 3, height: 6, rx: 3 };
      svg.append(draw("rect", { ...span, class: `fill-${tone}`, opacity: tone === "0" ? 0.55 : 0.38 }));
    }
    const mark = { 1: ["▲", " ta"], "-1": ["▼", " tb"], 0: ["○", ""] }[one.verdict];
    svg.append(
      draw("circle", { cx: x(one.mean), cy: y, r: 3.8, class: tone === "0" ? "dot" : `fill-${tone}` }),
      label(width - 18, y + 4, fixed(one.mean, DECIMALS), "name end"),
      mark && one.diff != null ? label(width - 12, y + 4, mark[0], mark[1]) : "",
    );
  });
  const under = (_, py) => found[Math.floor((py - 4) / row)] ?? null;
  follow(svg, under, (one) => sliceLines(one));
  return svg;
}

function sliceLines({ s, mean, low, high, diff, diff_low, diff_high, p_adjusted }) {
  const text = (value) => changeText(value, 0);
  return [
    systemName(s, 60),
    `mean ${fixed(mean, DECIMALS)}${low == null ? "" : `, interval ${fixed(low, 3)} to ${fixed(high, 3)}`}`,
    diff == null ? "" : `${text(diff)} against ${systemName(content.baseline, 40)}`,
    diff_low == null ? "" : `interval ${text(diff_low)} to ${text(diff_high)}`,
    p_adjusted == null ? "" : `${probability(p_adjusted)} (${content.tests.baseline})`,
  ];
}
