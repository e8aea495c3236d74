// Rankings side by side, with lines between the places of the same document.

// Pixels, as in the style: heights are fixed, so that lines need no measuring of the document.
const HEAD = 31;
const SHORT = 30;
const TALL = 62;
const MOST_MISSED = 60;

/** The rankings of A, B and others; the legend; the chosen document; what none of them has. */
function sideBySide(query, one) {
  const shownSystems = beside();
  const narrow = (byId("stage").clientWidth || 800) < 620;
  const tall = Boolean(one.t) && !narrow;
  const row = tall ? TALL : SHORT;
  const gutter = narrow ? 26 : 88;
  const rows = Math.min(choice.depth, Math.max(...shownSystems.map((system) => one.n[system])));
  const columns = make("div", { class: "columns" });
  columns.style.gridTemplateColumns = shownSystems.map(() => "minmax(0,1fr)").join(` ${gutter}px `);
  shownSystems.forEach((system, column) => {
    if (column)
      columns.append(joins(one, shownSystems[column - 1], system, { rows, row, gutter, narrow }));
    columns.append(rankingColumn(query, one, system, column, { rows, tall }));
  });
  const parts = [tools(), columns, legend(one)];
  if (choice.doc != null) parts.push(card(one, choice.doc));
  return [...parts, ...missed(one, shownSystems, rows), ...worksheets(query)];
}

/** How many ranks are shown, and which rankings beside those of A and B. */
function tools() {
  const depths = [...new Set([10, content.depth])].filter((depth) => depth <= content.depth);
  const deep = make(
    "select",
    {
      autocomplete: "off",
      onchange: (event) => {
        choice.depth = Number(event.target.value);
        stage();
      },
    },
    depths.map((depth) => make("option", { value: depth, selected: depth === choice.depth }, `1–${depth}`)),
  );
  const others = ranked().filter((system) => !beside().includes(system));
  const add = make(
    "select",
    {
      "aria-label": "Add a ranking",
      autocomplete: "off",
      onchange: (event) => {
        choice.extra.push(Number(event.target.value));
        stage();
        byId("stage").querySelector(".tools select:last-of-type")?.focus();
      },
    },
    make("option", { value: "" }, "Add a ranking …"),
    others.map((system) => make("option", { value: system }, systemName(system, 60))),
  );
  const parts = [depths.length > 1 ? make("label", {}, "Ranks ", deep) : null];
  parts.push(others.length && choice.extra.length < 2 ? add : null);
  return make("div", { class: "tools" }, parts);
}

/** One system's ranking: rank, grade, document, and its text where there is one. */
function rankingColumn(query, one, system, column, { rows, tall }) {
  const key = ["a", "b"][column] ?? "";
  const remove = {
    type: "button",
    "aria-label": `Remove ${systemName(system, 60)}`,
    onclick: () => {
      choice.extra = choice.extra.filter((other) => other !== system);
      stage();
    },
  };
  const head = make(
    "h4",
    {},
    two && make("span", { class: `key ${key}`, "aria-hidden": "true" }, "AB"[column] ?? String(column + 1)),
    make("bdi", { title: systemName(system, 300) }, systemName(system)),
    make("span", { class: "score" }, scoreText(scoreOf(system, query))),
    column > 1 ? make("button", remove, "×") : null,
  );
  const ranking = rankingOf(one, system, rows);
  const items = ranking.map((doc, place) => listed(one, doc, place, tall));
  const list = { role: "listbox", "aria-label": `Ranking of ${systemName(system)}` };
  const n = one.n[system];
  const end = n ? `The ranking ends here: ${whole(n)} retrieved.` : "Nothing was retrieved.";
  return make(
    "div",
    { class: "ranking" },
    head,
    items.length ? make("ol", list, items) : null,
    n < rows || n === 0 ? make("p", { class: "ends" }, end) : null,
  );
}

/** A document in a ranking. */
function listed(one, doc, place, tall) {
  const text = tall ? one.t[doc] : null;
  return make(
    "li",
    {
      class: tall ? "doc tall" : "doc",
      role: "option",
      "data-d": doc,
      "aria-selected": doc === choice.doc ? "true" : "false",
      tabindex: place === 0 ? 0 : -1,
      onclick: () => openCard(doc),
      onpointerenter: () => light(doc),
      onpointerleave: () => light(null),
    },
    make("span", { class: "r" }, String(place + 1)),
    chip(one.g?.[doc] ?? null),
    make(
      "div",
      {},
      make("div", { class: "id" }, make("bdi", { title: shown(one.d[doc]) }, shown(one.d[doc], 200))),
      text ? make("div", { class: "snippet" }, make("bdi", {}, shown(text, 330))) : null,
    ),
  );
}

/** Lines from one ranking to the next; a stub where a document is below what is shown, or absent. */
function joins(one, left, right, { rows, row, gutter, narrow }) {
  const height = rows * row + HEAD;
  const svg = draw("svg", { viewBox: `0 0 ${gutter} ${height}`, height, "aria-hidden": "true" });
  const y = (rank) => HEAD + (rank - 0.5) * row;
  const kind = (doc) => {
    const tone = gradeTone(one.g?.[doc] ?? null);
    return `join${/^g[123]$/.test(tone) ? ` r${tone[1]}` : ""}${doc === choice.doc ? " lit" : ""}`;
  };
  const stub = (doc, rank, other, atRight) => {
    const path = atRight ? `M${gutter},${y(rank)}h-8` : `M0,${y(rank)}h8`;
    svg.append(draw("path", { d: path, class: kind(doc), "data-d": doc }));
    if (narrow) return;
    const text = other ? `↓${other}` : "∅";
    svg.append(label(atRight ? gutter - 12 : 12, y(rank) + 3.5, text, atRight ? "end" : ""));
  };
  rankingOf(one, left, rows).forEach((doc, place) => {
    const other = one.r[right][doc];
    if (other > 0 && other <= rows) {
      const [from, to, half] = [y(place + 1), y(other), gutter / 2];
      const path = `M0,${from}C${half},${from} ${half},${to} ${gutter},${to}`;
      svg.append(draw("path", { d: path, class: kind(doc), "data-d": doc }));
    } else stub(doc, place + 1, other, false);
  });
  rankingOf(one, right, rows).forEach((doc, place) => {
    const other = one.r[left][doc];
    if (!(other > 0 && other <= rows)) stub(doc, place + 1, other, true);
  });
  return make("div", { class: "gutter" }, svg);
}

/** Light a document in all rankings. */
function light(doc) {
  for (const element of byId("stage").querySelectorAll("[data-d]")) {
    const its = Number(element.dataset.d);
    element.classList.toggle("lit", its === doc || (its === choice.doc && element.tagName === "path"));
  }
}

/** Open or close the card of a document, and keep the place of the keyboard. */
function openCard(doc) {
  const columnLists = () => [...byId("stage").querySelectorAll(".ranking ol")];
  const column = columnLists().findIndex((list) => list.contains(document.activeElement));
  choice.doc = choice.doc === doc ? null : doc;
  stage();
  columnLists()[column]?.querySelector(`[data-d="${Number(doc)}"]`)?.focus();
}

/** What each colour is. */
function legend(one) {
  const grades = [...new Set((one.g ?? []).filter((grade) => grade != null))].sort((x, y) => x - y);
  const words = (grade) => (grade < relevantFrom() ? " not relevant" : grade === content.grades?.top ? " most relevant" : "");
  return make(
    "div",
    { class: "legend" },
    grades.slice(0, 12).map((grade) => make("span", {}, chip(grade), words(grade))),
    make("span", {}, chip(null), " not judged"),
    two ? make("span", {}, "↓23: at rank 23 there") : null,
    two ? make("span", {}, "∅: not retrieved there") : null,
  );
}

/** The chosen document: its whole id, its text, its rank in every system. */
function card(one, doc) {
  const places = ranked().map((system) =>
    make("li", {}, name(systems[system], 60), make("b", {}, one.r[system][doc] ? whole(one.r[system][doc]) : "∅")),
  );
  return make(
    "div",
    { class: "card", role: "region", "aria-label": "Document", "aria-live": "polite" },
    make("h4", {}, name(one.d[doc], 1000), " ", chip(one.g?.[doc] ?? null)),
    one.t?.[doc] ? make("p", {}, name(one.t[doc], 2000)) : null,
    make("p", { class: "mut" }, "Its rank in every system:"),
    make("ul", { class: "places" }, places),
  );
}

/** Relevant documents that none of the rankings shows. */
function missed(one, shownSystems, rows) {
  const seen = (doc) => shownSystems.some((system) => one.r[system][doc] > 0 && one.r[system][doc] <= rows);
  const docs = one.d.map((_, doc) => doc).filter((doc) => one.g?.[doc] >= relevantFrom() && !seen(doc));
  if (!docs.length) return [];
  docs.sort((x, y) => one.g[y] - one.g[x] || x - y);
  const item = (doc) => {
    const ranks = shownSystems.map((system, column) => `${"AB"[column] ?? column + 1} ${one.r[system][doc] || "∅"}`);
    const id = make("div", { class: "id" }, name(one.d[doc], 120));
    return make("li", { class: "doc" }, chip(one.g[doc]), id, make("span", { class: "mut" }, ranks.join(" · ")));
  };
  const others = docs.length - MOST_MISSED;
  return [
    make(
      "details",
      {},
      make("summary", {}, `${many(docs.length, "relevant document")} in none of these lists`),
      make("ol", { class: "missed" }, docs.slice(0, MOST_MISSED).map(item)),
      others > 0 ? make("p", { class: "small" }, `and ${whole(others)} more`) : null,
    ),
  ];
}

/** Keys in the rankings: up, down; left and right to the same rank of the other list; Enter for the card. */
function stepDocuments(event) {
  const item = event.target.closest?.(".ranking .doc");
  if (!item) return;
  const all = [...byId("stage").querySelectorAll(".ranking ol")];
  const [list, place] = [item.parentElement, [...item.parentElement.children].indexOf(item)];
  const column = all.indexOf(list);
  const last = (ol) => ol && (ol.children[place] ?? ol.lastElementChild);
  const next = {
    ArrowDown: () => list.children[place + 1],
    ArrowUp: () => list.children[place - 1],
    ArrowRight: () => last(all[column + 1]),
    ArrowLeft: () => last(all[column - 1]),
    Home: () => list.firstElementChild,
    End: () => list.lastElementChild,
  }[event.key];
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    openCard(Number(item.dataset.d));
  } else if (next) {
    event.preventDefault();
    const to = next();
    if (!to) return;
    for (const other of to.parentElement.children) other.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
    light(Number(to.dataset.d));
  }
}
