// The page begins: sections without anything to show go, the rest is drawn one piece in each task.

/** A chart: where it is, when there is something to draw, and what draws it. */
const PIECES = [
  { id: "differences", has: anyScores && two, draw: differences },
  { id: "scatter", has: anyScores && two, draw: scatter },
  { id: "stage", has: anyScores, draw: stage },
  { id: "cutoffs", has: Boolean(content.cutoffs), draw: depthCurves },
  { id: "recall", has: Boolean(content.recall), draw: content.cutoffs ? () => {} : depthCurves },
  { id: "matrix", has: systems.length > 2 && content.pairs[0]?.length > 0, draw: matrix },
  { id: "spread", has: anyScores, draw: spread },
  { id: "relevant", has: anyScores && Boolean(content.n_relevant), draw: relevant },
  { id: "slices", has: content.slices?.length > 0, draw: slices },
  { id: "judged", has: Boolean(content.judged), draw: judged },
];

/** Remove what has nothing to show: charts, and sections without one. */
function prune() {
  for (const { id, has } of PIECES) if (!has) byId(id).remove();
  for (const id of ["where", "depth", "pairs", "steady", "amount", "parts", "holes"]) {
    const section = byId(id);
    const charts = section.querySelectorAll("figure, #slices");
    if (!charts.length) section.remove();
    else if (charts.length === 1) section.querySelector(".two")?.classList.add("only");
  }
  if (!anyScores) byId("query").remove();
  if (!two) byId("h-which").textContent = "How good is it?";
}

/** Say what the section of single queries shows. */
function sayQuery() {
  const said = [];
  if (content.lists) {
    said.push(
      two
        ? "The rankings side by side; lines join the places of the same document."
        : "The ranking, with the grade of each document.",
    );
    const { n, of } = content.lists;
    if (n < of)
      said.push(`Rankings of ${whole(n)} of ${many(of, "query", "queries")} are in the page: those on which systems differ most.`);
  } else if (content.why) said.push(content.why);
  const key = (one) => make("kbd", {}, one);
  byId("query-said").replaceChildren(
    `${said.join(" ")}${alsoSaid("lists")}`,
    make("span", { class: "keys" }, " Keys: ", key("↑"), " ", key("↓"), " in the list and from the search box, ", key("Home"), " and ", key("End"), " for the first and the last query."),
  );
}

/** Update what depends on the chosen query. */
function followQuery() {
  reveal();
  ringDifferences();
  ringScatter();
  ringSpread();
  stage();
}

let turn = 0;

/** Draw everything again, what is in view first; a newer change drops what is left of an older one. */
async function refresh() {
  const mine = ++turn;
  showControls();
  showBoard();
  markBoard();
  const tasks = [];
  if (anyScores) {
    tasks.push(weigh, weighOverlaps, findQueries);
    if (two) tasks.push(sayPair);
  }
  const near = ({ id }) => {
    const { top, bottom } = byId(id).getBoundingClientRect();
    return bottom > -400 && top < innerHeight + 400;
  };
  const pieces = PIECES.filter(({ has }) => has);
  const seen = pieces.filter(near);
  tasks.push(...[...seen, ...pieces.filter((piece) => !seen.includes(piece))].map((piece) => piece.draw));
  for (const task of tasks) {
    await rest();
    if (mine !== turn) return;
    task();
  }
}

/** Draw again for another width, once it has settled. */
function followWidth() {
  let [width, waiting] = [innerWidth, 0];
  addEventListener("resize", () => {
    if (innerWidth === width) return; // a bar of the browser that came or went
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 150);
  });
}

async function start() {
  prune();
  const named = recall();
  startControls();
  startBoard();
  for (const table of document.querySelectorAll("#board, #means")) {
    sortable(table);
    filterable(table);
  }
  showControls();
  markBoard();
  if (anyScores) {
    await readScores();
    startFinder();
    sayQuery();
    weigh();
    findQueries();
    if (!named) choice.query = finder.found[0];
    byId("stage").addEventListener("keydown", stepDocuments);
  }
  await refresh();
  if (content.lists) {
    await readLists();
    weighOverlaps();
    stage();
    paintRows();
    await rest();
    await readSheets();
    if (sheets.size) stage();
  }
  if (anyScores) reveal();
  followWidth();
  addEventListener("hashchange", () => {
    if (!location.hash.includes("=")) return;
    recall();
    refresh().then(reveal);
  });
  if (named) byId("query").scrollIntoView({ behavior: "instant" });
  document.documentElement.dataset.ready = "1";
}

start();
