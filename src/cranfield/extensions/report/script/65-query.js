// What happened to one query: its question, every system's score, the rankings, the worksheets.

function stage() {
  const { query } = choice;
  const one = lists?.get(query);
  const parts = [aboutQuery(query, one), scoreStrip(query)];
  if (one) parts.push(...sideBySide(query, one));
  else if (content.lists && !lists) parts.push(make("p", { class: "card" }, "Reading the rankings …"));
  else {
    if (content.lists) parts.push(withoutRankings(query));
    if (two) parts.push(everyScore(query));
  }
  byId("stage").replaceChildren(...parts);
}

/** The question, its id, and how much of it is relevant and shared. */
function aboutQuery(query, one) {
  const relevant = relevantTo(choice.scored)?.[query] ?? one?.rel;
  const facts = [
    hasText(query) ? shown(queries[query], 80) : "",
    relevant == null ? "" : many(relevant, "relevant document"),
  ];
  if (one && two) {
    facts.push(`${sharedBy(one, choice.a, choice.b)} of the first 10 shared`);
    facts.push(`RBO ${overlapOf(query, choice.a, choice.b).toFixed(4)}`);
  }
  const title = hasText(query) || /\s/.test(queries[query]) ? question(query) : `Query ${shown(queries[query], 200)}`;
  return make(
    "div",
    { class: "about" },
    make("h3", {}, make("bdi", {}, title)),
    make("p", {}, make("bdi", {}, facts.filter(Boolean).join(" · "))),
  );
}

/** Where every system is on this query: is it hard for all of them, or for one? */
function scoreStrip(query) {
  const width = byId("stage").clientWidth || 800;
  const values = systems.map((_, system) => scoreOf(system, query));
  const low = Math.min(scored().low, ...values);
  const high = Math.max(scored().high, ...values);
  const x = scale(low, high, 8, width - 8);
  const best = ranked(choice.scored);
  const said = best.slice(0, 60).map((system) => `${systemName(system, 40)} ${scoreText(values[system])}`);
  const strip = draw("svg", {
    viewBox: `0 0 ${width} 46`,
    height: 46,
    width: "100%",
    class: "strip",
    role: "img",
    "aria-label": `${measureName(choice.scored)} of every system on this query: ${said.join(", ")}`,
  });
  const under = two ? `${measureName(choice.scored)} of all ${systems.length} systems on this query` : measureName(choice.scored);
  strip.append(
    draw("line", { x1: x(low), x2: x(high), y1: 22, y2: 22, class: "line-0" }),
    label(x(low), 42, short(low)),
    label(x(high), 42, short(high), "end"),
    label(width / 2, 42, under, "mid"),
  );
  values.forEach((value, system) => {
    if (toneOf(system) === "0")
      strip.append(draw("circle", { cx: x(value), cy: 22, r: 4, class: "fill-0", opacity: 0.85 }));
  });
  const chosen = [choice.b, choice.a].filter((system) => system != null);
  for (const system of chosen) {
    const mark = { cx: x(values[system]), cy: 22, r: 6.5, class: `fill-${toneOf(system)}`, "data-s": system };
    strip.append(draw("circle", mark));
  }
  strip.append(...stripLabels(chosen, values, x, width));
  const nearest = (px) => {
    const away = (system) => Math.abs(x(values[system]) - px);
    const found = best.reduce((near, system) => (away(system) < away(near) ? system : near));
    return away(found) < 9 ? best.filter((system) => Math.abs(x(values[system]) - x(values[found])) < 3) : null;
  };
  follow(strip, nearest, (found) => [
    scoreText(values[found[0]]),
    ...found.slice(0, 12).map((system) => systemName(system, 60)),
    found.length > 12 ? `and ${found.length - 12} more` : "",
  ]);
  return strip;
}

/** The scores of A and B above their dots; as one label where the dots are near each other. */
function stripLabels(chosen, values, x, width) {
  const at = (system) => within(x(values[system]), 22, width - 22);
  const near = chosen.length === 2 && Math.abs(at(choice.a) - at(choice.b)) < 54;
  if (!near) {
    return chosen.map((system) =>
      label(at(system), 9, scoreText(values[system]), `name mid strong t${toneOf(system)}`),
    );
  }
  const middle = within((at(choice.a) + at(choice.b)) / 2, 62, width - 62);
  const left = values[choice.a] < values[choice.b] ? choice.a : choice.b;
  const right = left === choice.a ? choice.b : choice.a;
  return [left, right].map((system, i) => {
    const text = `${systemName(system, 12)} ${scoreText(values[system])}`;
    return label(middle + (i ? 5 : -5), 9, text, `name strong t${toneOf(system)}${i ? "" : " end"}`);
  });
}

/** The score of every system on a query, the best first: where there are no rankings to see. */
function everyScore(query) {
  const gain = (system) => scoreOf(system, query) * (scored().rising ? 1 : -1);
  const best = ranked(choice.scored).sort((x, y) => gain(y) - gain(x));
  const item = (system) =>
    make("li", { class: `is-${toneOf(system)}` }, name(systems[system], 60), make("b", {}, scoreText(scoreOf(system, query))));
  return make("ul", { class: "places" }, best.map(item));
}

/** What to do where the rankings of a query are not in the page. */
function withoutRankings(query) {
  const { n, of } = content.lists;
  const said =
    `The page holds the rankings of ${whole(n)} of ${many(of, "query", "queries")}: ` +
    `those on which systems differ most. This query is not one of them.`;
  const command = commandFor(query, choice.a);
  return make(
    "div",
    { class: "card" },
    make("p", {}, said),
    command ? make("p", {}, "To see how its score is computed: ", make("code", {}, command)) : null,
  );
}

/** The command that explains a score; names are put in as a shell reads them. */
function commandFor(query, system) {
  if (!content.explain) return "";
  const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);
  const parts = { run: content.runs[system], query: quoted(shown(queries[query], 200)) };
  return content.explain.replace(/\{(run|query)\}/g, (_, part) => parts[part]);
}

/** The worksheets of the rankings side by side, or the command that prints one. */
function worksheets(query) {
  const parts = [];
  const without = [];
  for (const system of beside()) {
    const text = sheets.get(`${query},${system}`);
    const title = `How ${measureName(0)} of ${systemName(system, 60)} is computed, step by step`;
    if (text) {
      const body = make("pre", { tabindex: 0, "aria-label": title }, shownLines(text));
      parts.push(make("details", { class: "sheet" }, make("summary", {}, title), body));
    } else without.push(system);
  }
  if (content.explain && without.length) {
    const commands = without.map((system) => make("code", {}, commandFor(query, system)));
    const title = `How ${measureName(0)} of ${without.map((one) => systemName(one, 60)).join(", ")} is computed`;
    const said = make("div", { class: "card" }, "This prints it, step by step:", commands);
    parts.push(make("details", { class: "sheet" }, make("summary", {}, title), said));
  }
  return parts;
}

/** A text of several lines, each as it can be shown. */
const shownLines = (text) =>
  text.split("\n").map((line) => shown(line, 2000)).join("\n");
