// What the reader has chosen. A, B and the measure are the page's one state: all charts follow it.

const [first = content.baseline ?? 0, second = null] = content.board[0]
  .map((row) => row.s)
  .filter((system) => system !== content.baseline);
const rival = content.baseline ?? second; // B; A is the best other system

const choice = {
  a: first,
  b: two ? rival : null,
  measure: 0,
  scored: Math.max(0, measures.findIndex((one) => one.queries != null)), // has a score for each query
  query: 0,
  depth: Math.min(10, content.depth || 10),
  extra: /** @type {number[]} */ ([]), // rankings beside those of A and B
  doc: /** @type {number | null} */ (null), // the document whose card is open
};

/** The measure of which single queries are shown: the one chosen, if the page has its scores. */
const scored = () => measures[choice.scored];

/** The systems whose rankings are side by side. */
const beside = () => [choice.a, ...(two ? [choice.b] : []), ...choice.extra];

/** Choose systems and a measure; one that the other side has changes places with it. */
function choosePair(a, b, measure = choice.measure) {
  if (two && a === b) [a, b] = a === choice.a ? [choice.b, b] : [a, choice.a];
  choice.a = a;
  choice.b = two ? b : null;
  choice.measure = measure;
  if (hasScores(measure)) choice.scored = measure;
  choice.extra = choice.extra.filter((one) => one !== a && one !== b);
  remember();
  refresh();
}

/** Choose a query; `go` brings the stage into view. */
function chooseQuery(query, go = false) {
  if (query !== choice.query) {
    choice.query = query;
    choice.doc = null;
    remember();
    followQuery();
  }
  if (go) byId("query").scrollIntoView();
}

/** Keep the state in the address, so that a link to one query can be sent. */
function remember() {
  const state = { q: queries[choice.query], a: systems[choice.a], m: measures[choice.measure].name };
  if (two) state.b = systems[choice.b];
  try {
    history.replaceState(null, "", "#" + new URLSearchParams(state));
  } catch {
    // A page inside another one has no address of its own.
  }
}

/** Take the state from the address; return whether it names a query. */
function recall() {
  const state = new URLSearchParams(location.hash.slice(1));
  const place = (key, all, otherwise) => {
    const at = all.indexOf(state.get(key));
    return at < 0 ? otherwise : at;
  };
  choice.a = place("a", systems, choice.a);
  if (two) {
    choice.b = place("b", systems, choice.b);
    if (choice.b === choice.a) choice.b = choice.a === rival ? first : rival;
  }
  const named = measures.map((one) => one.name);
  choice.measure = place("m", named, choice.measure);
  if (hasScores(choice.measure)) choice.scored = choice.measure;
  const query = place("q", queries, null);
  if (query != null) choice.query = query;
  return query != null;
}
