// What the scores say about A and B on each query. Means, intervals, p, and how many queries are better
// or worse are never counted here: they come from Python's pairs.

const LEAST = 0.00001; // of which the logarithm is taken where a value is less (trec_eval's GMAP)

/** The scores of a system on all queries. */
const scoresOf = (system) => scores[scored().queries].subarray(system * N, system * N + N);
const scoreOf = (system, query) => scores[scored().queries][system * N + query];

const DECIMALS = 4; // as all tables have
const scoreText = (value) => fixed(value, DECIMALS);

const byRatio = (measure) => measures[measure].scale === "ratio";
/** A change of a measure in words: "+0.0215", or "×1.0800" of a geometric mean. */
const changeText = (value, measure, decimals = DECIMALS) =>
  byRatio(measure) ? `×${fixed(value, decimals)}` : signed(value, decimals);

/** How much better A is than B on each query: more is better for A, whichever way the measure goes. */
let gains = new Float64Array(0);
/** The queries, those on which A gains most first. */
let order = new Uint32Array(0);
/** The place of each query in that order. */
let placeOf = new Uint32Array(0);

/** A difference of scores as a gain, and back: of a ratio its logarithm, of a cost its opposite. */
const asGain = (change, measure = choice.scored) => {
  const value = byRatio(measure) ? Math.log(change) : change;
  return measures[measure].rising ? value : -value;
};
const asChange = (gain, measure = choice.scored) => {
  const value = measures[measure].rising ? gain : -gain;
  return byRatio(measure) ? Math.exp(value) : value;
};

/** Compute the gains and their order; with one system alone, its scores. */
function weigh() {
  const a = scoresOf(choice.a);
  const b = two ? scoresOf(choice.b) : null;
  gains = new Float64Array(N);
  for (let query = 0; query < N; query++) {
    if (!b) gains[query] = measures[choice.scored].rising ? a[query] : -a[query];
    else if (byRatio(choice.scored))
      gains[query] = asGain(Math.max(a[query], LEAST) / Math.max(b[query], LEAST));
    else gains[query] = asGain(a[query] - b[query]);
  }
  order = Uint32Array.from(gains.keys()).sort((x, y) => gains[y] - gains[x] || x - y);
  placeOf = new Uint32Array(N);
  order.forEach((query, place) => (placeOf[query] = place));
}

/** Which side a query is better for: "a", "b", or "0" where they differ by no more than rounding. */
const sideOf = (query) => (gains[query] > 1e-9 ? "a" : gains[query] < -1e-9 ? "b" : "0");

/** The difference of a query, as the measure has it. */
const gapText = (query, decimals) => changeText(asChange(gains[query]), choice.scored, decimals);

/** What to show for a query when the pointer is over it. */
const about = (query) => [
  question(query),
  hasText(query) ? shown(queries[query], 60) : "",
  `${systemName(choice.a, 40)}  ${scoreText(scoreOf(choice.a, query))}`,
  two ? `${systemName(choice.b, 40)}  ${scoreText(scoreOf(choice.b, query))}` : "",
  two ? `${measureName(choice.scored)} ${gapText(query)}` : "",
];

const pairsOf = measures.map(() => /** @type {Map<number, any[]> | null} */ (null));
const inverse = (value, ratio) => (value == null ? null : ratio ? 1 / value : -value);

/** What Python found for two systems, `a` compared with `b`; null if they were not compared. */
function pairOf(a, b, measure = choice.measure) {
  pairsOf[measure] ??= new Map(content.pairs[measure].map((one) => [one[0] * systems.length + one[1], one]));
  const found = pairsOf[measure].get(Math.min(a, b) * systems.length + Math.max(a, b));
  if (!found) return null;
  const [left, , change, low, high, p, verdict, wins, ties, losses, better, same, worse] = found;
  if (left === a) return { change, low, high, p, verdict, wins, ties, losses, better, same };
  const ratio = byRatio(measure);
  return {
    change: inverse(change, ratio),
    low: inverse(high, ratio),
    high: inverse(low, ratio),
    p,
    verdict: verdict && -verdict, // null stays
    wins: losses,
    ties,
    losses: wins,
    better: worse,
    same,
  };
}

/** The systems, the best under a measure first. */
const ranked = (measure = choice.measure) => content.board[measure].map((row) => row.s);
