// The list of queries: searched, ordered, and only its visible part is in the document.

const ROW = 44; // pixels, as in the style

const finder = { text: "", order: "up", found: new Uint32Array(0), reach: 1, overlaps: new Map() };

/** The orders there are: [key, words]. */
const ORDERS = two
  ? [
      ["up", ""], // A's name, and B's, are put in when they are chosen
      ["down", ""],
      ["size", "largest difference"],
      ["unlike", "least similar rankings (RBO)"],
      ["name", "by id"],
    ].filter(([key]) => key !== "unlike" || content.lists)
  : [
      ["down", "lowest score first"],
      ["up", "highest score first"],
      ["name", "by id"],
    ];

const lowered = { ids: /** @type {string[] | null} */ (null), texts: /** @type {string[] | null} */ (null) };

/** Find the queries that the search names, in the order chosen. */
function findQueries() {
  for (const [key, system] of two ? [["up", choice.a], ["down", choice.b]] : [])
    byId("order").querySelector(`[value=${key}]`).textContent = `${systemName(system, 40)} better, most first`;
  const wanted = finder.text.trim().toLowerCase();
  lowered.ids ??= queries.map((id) => id.toLowerCase());
  lowered.texts ??= (content.texts ?? []).map((text) => (text ?? "").toLowerCase());
  let found = finder.order === "down" ? order.slice().reverse() : order.slice();
  if (finder.order === "size") found.sort((x, y) => Math.abs(gains[y]) - Math.abs(gains[x]) || x - y);
  if (finder.order === "name") found.sort((x, y) => x - y);
  if (finder.order === "unlike") {
    // Queries without rankings come last.
    found.sort((x, y) => (finder.overlaps.get(x) ?? 2) - (finder.overlaps.get(y) ?? 2) || x - y);
  }
  if (wanted)
    found = found.filter(
      (query) => lowered.ids[query].includes(wanted) || lowered.texts[query]?.includes(wanted),
    );
  finder.found = found;
  finder.reach = Math.max(Math.abs(gains[order[0]] ?? 0), Math.abs(gains[order[N - 1]] ?? 0), 1e-9);
  const all = many(N, "query", "queries");
  byId("found").textContent = wanted ? `${whole(found.length)} of ${all}` : all;
  byId("rows").style.height = `${found.length * ROW}px`;
  paintRows();
}

/** How unlike the rankings of A and B are on each query that has them. */
function weighOverlaps() {
  finder.overlaps = new Map();
  if (!two || !lists) return;
  for (const query of lists.keys()) finder.overlaps.set(query, overlapOf(query, choice.a, choice.b));
}

/** Put the rows that are seen into the document. */
function paintRows() {
  const box = byId("queries");
  const from = Math.max(0, Math.floor(box.scrollTop / ROW) - 3);
  const to = Math.min(finder.found.length, from + Math.ceil((box.clientHeight || 560) / ROW) + 7);
  const rows = [];
  for (let place = from; place < to; place++) rows.push(queryRow(place));
  byId("rows").replaceChildren(...rows);
  const chosen = rows.some((row) => row.id === `q-${choice.query}`);
  if (chosen) box.setAttribute("aria-activedescendant", `q-${choice.query}`);
  else box.removeAttribute("aria-activedescendant");
}

/** The row of one query: what it asks, its difference as a number and a bar, how alike the rankings are. */
function queryRow(place) {
  const query = finder.found[place];
  const overlap = finder.overlaps.get(query);
  const more = [
    hasText(query) ? shown(queries[query], 40) : "",
    overlap == null ? "" : `RBO ${overlap.toFixed(2)}`,
  ].filter(Boolean);
  const row = make(
    "div",
    {
      class: "q",
      role: "option",
      id: `q-${query}`,
      "aria-selected": query === choice.query ? "true" : "false",
      "aria-setsize": finder.found.length,
      "aria-posinset": place + 1,
      "data-q": query,
      onclick: () => chooseQuery(query),
    },
    make("span", { class: "text" }, make("bdi", {}, question(query, 90))),
    make("span", { class: "gap" }, two ? gapText(query, byRatio(choice.scored) && asChange(gains[query]) >= 100 ? 0 : 3) : fixed(scoreOf(choice.a, query), 3)),
    make("span", { class: "more" }, more.join(" · ")),
    bar(query),
  );
  row.style.top = `${place * ROW}px`;
  return row;
}

/** A bar from the middle: to the right where A gains, to the left where B does; of one system, its score. */
function bar(query) {
  const share = two ? (gains[query] / finder.reach) * 50 : (Math.abs(gains[query]) / finder.reach) * 100;
  const start = two ? 50 : 0;
  return draw(
    "svg",
    { width: "100%", height: 8, "aria-hidden": "true" },
    draw("line", { x1: `${start}%`, x2: `${start}%`, y1: 0, y2: 8, class: "zero" }),
    draw("rect", {
      x: `${Math.min(start, start + share)}%`,
      width: `${Math.abs(share)}%`,
      y: 2,
      height: 4,
      class: two ? `fill-${sideOf(query)}` : "fill-a",
    }),
  );
}

/** Scroll the list to the chosen query. */
function reveal() {
  const place = finder.found.indexOf(choice.query);
  const box = byId("queries");
  if (place >= 0) {
    if (place * ROW < box.scrollTop) box.scrollTop = place * ROW;
    else if ((place + 1) * ROW > box.scrollTop + box.clientHeight)
      box.scrollTop = (place + 1) * ROW - box.clientHeight;
  }
  paintRows();
}

/** Keys in the list, and from the search box. */
function stepQueries(event) {
  const n = finder.found.length;
  const at = finder.found.indexOf(choice.query);
  const places = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0, End: n - 1 };
  if (!n || !(event.key in places)) return;
  event.preventDefault();
  chooseQuery(finder.found[within(places[event.key], 0, n - 1)]);
}

function startFinder() {
  byId("order").append(...ORDERS.map(([key, words]) => make("option", { value: key }, words)));
  finder.order = ORDERS[0][0];
  byId("order").addEventListener("change", (event) => {
    finder.order = event.target.value;
    byId("queries").scrollTop = 0;
    findQueries();
    if (finder.found.length) chooseQuery(finder.found[0]);
  });
  byId("find").addEventListener("input", (event) => {
    finder.text = event.target.value;
    byId("queries").scrollTop = 0;
    findQueries();
  });
  byId("find").addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") stepQueries(event);
  });
  byId("queries").addEventListener("keydown", stepQueries);
  byId("queries").addEventListener("scroll", paintRows, { passive: true });
}
