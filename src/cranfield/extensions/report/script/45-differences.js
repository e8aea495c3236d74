// On which queries A and B differ: every query's difference, those on which A gains most first.

const MOST_STEMS = 400; // of more queries, an area with a value for each pixel

let ringDifferences = () => {};

/** The sentence of A and B: from Python's pair, not from the scores here. */
function sayPair() {
  const pair = pairOf(choice.a, choice.b);
  const said = [name(systems[choice.a], 60), " against ", name(systems[choice.b], 60), ": "];
  if (pair) {
    const { change, low, high, p, verdict, wins, ties, losses, better, same } = pair;
    const n = wins + ties + losses;
    const text = (value) => changeText(value, choice.measure);
    said.push(
      `better on ${whole(wins)}, the same on ${whole(ties)}, worse on ${whole(losses)} of ${many(n, "query", "queries")}. `,
      `${byRatio(choice.measure) ? "Ratio of geometric means" : "Mean difference"} of ${measureName(choice.measure)} `,
      make("b", {}, text(change)),
      low == null ? "" : `, ${content.level} interval ${text(low)} to ${text(high)}`,
      p == null ? "" : `; ${probability(p)} (${content.tests.pairs})`,
      better == null ? "" : `; P(better) ${fixed(better, 2)}${same ? `, P(same) ${fixed(same, 2)}` : ""}`,
      ". ",
      verdict == null ? "They cannot be placed: too little is judged." : verdict > 0 ? "Significantly better." : verdict < 0 ? "Significantly worse." : "No evidence of a difference.",
    );
  } else said.push("not compared.");
  if (!measures[choice.measure].rising) said.push(" Less is better.");
  if (choice.scored !== choice.measure)
    said.push(
      ` The page has only means of ${measureName(choice.measure)}: single queries are shown by ${measureName(choice.scored)}.`,
    );
  for (const one of measures[choice.measure].doubts) said.push(" ", make("b", {}, "Warning: "), shown(one, 1000));
  byId("where-said").replaceChildren(...said);
  byId("h-where").replaceChildren("On which queries do ", name(systems[choice.a], 40), " and ", name(systems[choice.b], 40), " differ?");
  listChanged();
}

/** For paper: the queries on which A is worse than B, ten at most, the worst first; then better. */
function listChanged() {
  const rows = (side, places) => {
    const found = places.filter((query) => sideOf(query) === side).slice(0, 10);
    const word = side === "b" ? "worse" : "better";
    const cells = (query) => [scoreOf(choice.b, query), scoreOf(choice.a, query)].map((score) => make("td", { class: "n" }, scoreText(score)));
    return [
      make("tr", {}, make("th", { colspan: 4, scope: "rowgroup" }, make("b", {}, found.length ? `Got ${word}, most first` : `None got ${word}`))),
      ...found.map((query) => make("tr", {}, make("th", { scope: "row" }, name(question(query, 90))), cells(query), make("td", { class: "n" }, gapText(query, DECIMALS)))),
    ];
  };
  const heads = [measureName(choice.scored), name(systems[choice.b], 24), name(systems[choice.a], 24), "change"];
  byId("changed").replaceChildren(
    make("thead", {}, make("tr", {}, heads.map((head, i) => make("th", { scope: "col", class: i ? "n" : "l" }, head)))),
    make("tbody", {}, rows("b", [...order].reverse())),
    make("tbody", {}, rows("a", [...order])),
  );
}

/** Values of the axis, as gains: of a difference, even steps; of a ratio, even factors. */
function gainTicks(low, high) {
  if (!byRatio(choice.scored)) return ticks(low, high, 6);
  const factors = [1.1, 1.2, 1.5, 2, 3, 5, 10, 30, 100, 1e3, 1e4, 1e5];
  const fit = [...factors.map((x) => -Math.log(x)), 0, ...factors.map(Math.log)];
  const every = fit.filter((one) => one >= low && one <= high).sort((x, y) => x - y);
  const apart = (high - low) / 9;
  return every.filter((one) => one === 0 || every.every((o) => o === one || Math.abs(o) < Math.abs(one) || o * one <= 0 || Math.abs(o - one) > apart));
}
const gainText = (gain) => {
  const change = asChange(gain);
  if (byRatio(choice.scored)) return `×${plain(Number(change.toPrecision(2)))}`;
  return (change > 0 ? "+" : "") + plain(change);
};

function differences() {
  const figure = byId("differences");
  const height = 326;
  const { svg, width } = canvas(figure, height, "");
  const [left, right, top, bottom] = [44, width - 8, 24, height - 44];
  const pair = choice.scored === choice.measure ? pairOf(choice.a, choice.b) : null;
  const [most, least] = [gains[order[0]], gains[order[N - 1]]];
  const ends = pair?.low == null ? [] : [asGain(pair.low), asGain(pair.high)];
  const narrowest = byRatio(choice.scored) ? 0.1 : (scored().high - scored().low) / 20 || 1e-3;
  const reach = Math.max(most, -least, ...ends.map(Math.abs), narrowest);
  const high = Math.max(most, reach * 0.14, ...ends);
  const low = Math.min(least, -reach * 0.14, ...ends);
  const y = scale(low, high, bottom, top);
  const x = (place) => left + ((right - left) * (place + 0.5)) / N;

  levels(svg, gainTicks(low, high), y, left, right, gainText);
  svg.append(draw("line", { x1: left, x2: right, y1: y(0), y2: y(0), class: "zero" }));
  if (pair) {
    const mean = asGain(pair.change);
    const side = mean > 0 ? "a" : mean < 0 ? "b" : "0";
    if (ends.length) {
      const [one, other] = ends.map(y);
      const band = { x: left, width: right - left, y: Math.min(one, other) };
      svg.append(draw("rect", { ...band, height: Math.max(1, Math.abs(one - other)), class: `fill-${side} band` }));
    }
    svg.append(draw("line", { x1: left, x2: right, y1: y(mean), y2: y(mean), class: `line-${side} dash` }));
    const said = `mean ${changeText(pair.change, choice.measure, 3)}`;
    const loses = mean < 0; // then the room without stems is at the left, below the line
    svg.append(label(loses ? left + 5 : right, y(mean) + (loses ? 15 : -5), said, loses ? "name halo" : "name end halo"));
  }
  svg.append(N <= MOST_STEMS ? stems(x, y, (right - left) / N) : areas(left, right, y));
  extremes(svg, x, y, right - left);

  const caption =
    N <= MOST_STEMS
      ? `${many(N, "query", "queries")}, sorted`
      : `${many(N, "query", "queries")}, sorted: each pixel shows one of about ${whole(Math.round(N / (right - left)))}`;
  svg.append(
    label(right, 13, `↑ ${systemName(choice.a, 30)} better`, "strong ta end"),
    label(left, height - 7, `↓ ${systemName(choice.b, 30)} better`, "strong tb"),
    label(right, height - 7, caption, "end"),
  );
  figure.replaceChildren(slider(svg, { x, y, left, right, top, bottom }));
}

/** A stem and a dot for each query. */
function stems(x, y, step) {
  const marks = draw("g");
  const wide = Math.min(2.2, step * 0.5);
  order.forEach((query, place) => {
    const side = sideOf(query);
    const at = { x1: x(place), x2: x(place), y1: y(0), y2: y(gains[query]) };
    marks.append(draw("line", { ...at, class: `line-${side}`, "stroke-width": wide }));
    if (step < 3) return;
    const radius = within(step * 0.36, 2, 4.5);
    marks.append(draw("circle", { cx: at.x1, cy: at.y2, r: radius, class: `fill-${side}`, "data-q": query }));
  });
  return marks;
}

/** Two areas, A's gains and B's: the value of one query for each pixel. */
function areas(left, right, y) {
  const marks = draw("g");
  const columns = Math.floor(right - left);
  for (const [side, part] of [["a", Math.max], ["b", Math.min]]) {
    let path = `M${left},${y(0)}`;
    for (let pixel = 0; pixel < columns; pixel++) {
      const gain = gains[order[Math.min(N - 1, Math.floor(((pixel + 0.5) / columns) * N))]];
      path += `L${left + pixel},${y(part(0, gain)).toFixed(1)}`;
    }
    marks.append(draw("path", { d: `${path}L${right},${y(0)}Z`, class: `fill-${side}` }));
  }
  return marks;
}

/** The queries at both ends, by name: they are what is looked at first. */
function extremes(svg, x, y, room) {
  if (N < 3) return;
  const most = Math.floor((room * 0.5) / 6.2);
  const [best, worst] = [order[0], order[N - 1]];
  if (gains[best] > 0) svg.append(label(x(0) - 4, y(gains[best]) - 11, question(best, most), "halo"));
  if (gains[worst] < 0)
    svg.append(label(x(N - 1) + 4, y(gains[worst]) + 18, question(worst, most), "halo end"));
}

/** The chart as a slider over the sorted queries: by pointer, and by the keys of a slider. */
function slider(svg, { x, y, left, right, top, bottom }) {
  const ring = draw("g");
  const box = make("div", {
    role: "slider",
    tabindex: 0,
    "aria-label": `Queries sorted by the difference of ${measureName(choice.scored)}, ${systemName(choice.a)} minus ${systemName(choice.b)}`,
    "aria-valuemin": 1,
    "aria-valuemax": N,
  });
  svg.setAttribute("aria-hidden", "true");
  svg.removeAttribute("role");
  const mark = (place) => {
    const at = x(place);
    ring.replaceChildren(
      draw("line", { x1: at, x2: at, y1: top, y2: bottom, class: "zero", "stroke-dasharray": "2 3" }),
      draw("circle", { cx: at, cy: y(gains[order[place]]), r: 7, class: "ring" }),
    );
  };
  ringDifferences = () => {
    const place = placeOf[choice.query];
    box.setAttribute("aria-valuenow", place + 1);
    box.setAttribute("aria-valuetext", about(choice.query).filter(Boolean).join(", "));
    mark(place);
  };
  const under = (px) => within(Math.floor(((px - left) / (right - left)) * N), 0, N - 1);
  follow(
    svg,
    (px) => (px < left - 6 || px > right + 6 ? null : under(px)),
    (place) => {
      mark(place);
      return about(order[place]);
    },
    (place) => chooseQuery(order[place], true),
    () => mark(placeOf[choice.query]),
  );
  box.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -N, End: N };
    if (event.key === "Enter") byId("query").scrollIntoView();
    else if (event.key in steps) {
      event.preventDefault();
      chooseQuery(order[within(placeOf[choice.query] + steps[event.key], 0, N - 1)]);
    }
  });
  svg.append(ring);
  box.append(svg);
  ringDifferences();
  return box;
}
