// Tables that are sorted by a click on a head, and filtered where they are long.

const LONG_TABLE = 15; // rows; longer ones have a box to filter by name

/** What a row is sorted by: a name, a place, or a number, null where there is none. */
function sortKey(table, line, key) {
  const system = Number(line.dataset.s);
  if (key === "name") return systems[system].toLowerCase();
  if (table.id !== "board") return content.board[Number(key)]?.find((row) => row.s === system)?.mean ?? null;
  const rows = content.board[choice.measure];
  const place = rows.findIndex((row) => row.s === system);
  return key === "rank" ? place : rows[place][key];
}

/** Whether the first click on a head puts the least first. */
function leastFirst(table, key) {
  if (["name", "rank", "ranks", "p_adjusted", "letters"].includes(key)) return true;
  const measure = table.id === "board" ? choice.measure : Number(key);
  return key !== "wins" && key !== "judged" && !measures[measure].rising;
}

/** Say by which column a table is sorted. */
function sortedBy(table, key, direction = leastFirst(table, key) ? "ascending" : "descending") {
  for (const head of table.tHead.rows[0].cells) {
    if (head.dataset.key === key) head.setAttribute("aria-sort", direction);
    else head.removeAttribute("aria-sort");
  }
}

/** Sort the rows; those without a value come last, in both directions. */
function sortTable(table, key, direction) {
  const sign = direction === "ascending" ? 1 : -1;
  const lines = [...table.tBodies[0].rows].map((line) => ({ line, value: sortKey(table, line, key) }));
  lines.sort((one, other) => {
    if (one.value == null || other.value == null) return (one.value == null ? 1 : 0) - (other.value == null ? 1 : 0);
    return one.value < other.value ? -sign : one.value > other.value ? sign : 0;
  });
  table.tBodies[0].append(...lines.map(({ line }) => line));
  sortedBy(table, key, direction);
}

/** Make the heads of a table buttons. */
function sortable(table) {
  for (const head of table.tHead.rows[0].cells) {
    const { key } = head.dataset;
    if (key == null) continue;
    const press = () => {
      const sorted = head.getAttribute("aria-sort");
      const usual = leastFirst(table, key) ? "ascending" : "descending";
      const turned = usual === "ascending" ? "descending" : "ascending";
      sortTable(table, key, sorted === usual ? turned : usual);
    };
    head.append(make("button", { type: "button", onclick: press }, ...head.childNodes));
  }
  sortedBy(table, table.id === "board" ? "mean" : "0");
}

/** A box that keeps only the rows whose name contains a text. */
function filterable(table) {
  const lines = table.tBodies[0].rows;
  if (lines.length <= LONG_TABLE) return;
  const told = make("span", { class: "sr", "aria-live": "polite" });
  const filter = (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    let n = 0;
    for (const line of lines) {
      line.hidden = !systems[Number(line.dataset.s)].toLowerCase().includes(wanted);
      if (!line.hidden) n++;
    }
    told.textContent = wanted ? `${n} of ${many(systems.length, "system")}` : "";
  };
  const box = make("input", {
    type: "search",
    class: "filter",
    placeholder: `Filter ${systems.length} systems`,
    "aria-label": "Filter systems by name",
    autocomplete: "off",
    spellcheck: "false",
    oninput: filter,
  });
  table.closest("section").querySelector(".head").append(box, told);
}
