// The rankings of one query, and how different those of two systems are.

const P = 0.9; // the first 10 ranks weigh 0.86

/** What a system ranked for a query: the place of each document in `d`, best first, down to `depth`. */
function rankingOf(one, system, depth) {
  const found = [];
  one.r[system].forEach((rank, doc) => {
    if (rank > 0 && rank <= depth) found[rank - 1] = doc;
  });
  return found;
}

/**
 * Rank-biased overlap of what two systems ranked in their first `content.depth` ranks, p = 0.9,
 * extrapolated (Webber, Moffat & Zobel, ACM TOIS 2010, equation 32); null without rankings.
 */
function overlapOf(query, a, b) {
  const one = lists?.get(query);
  if (!one) return null;
  const [s, l] = [Math.min(one.n[a], content.depth), Math.min(one.n[b], content.depth)].sort((x, y) => x - y);
  if (l === 0) return 0;
  const met = new Uint16Array(l + 1); // documents that both have had, from this rank on
  one.r[a].forEach((rank, doc) => {
    const depth = Math.max(rank, one.r[b][doc]);
    if (rank > 0 && one.r[b][doc] > 0 && depth <= l) met[depth]++;
  });
  let [sum, both, agreement, weight] = [0, 0, 0, 1 - P];
  for (let depth = 1, atEnd = 0; depth <= l; depth++) {
    both += met[depth];
    if (depth === s) atEnd = both / s;
    agreement = (both + atEnd * Math.max(0, depth - s)) / depth;
    sum += weight * agreement;
    weight *= P;
  }
  return sum + agreement * P ** l;
}

/** How many of the first documents two systems share. */
function sharedBy(one, a, b, depth = 10) {
  const first = (system, doc) => one.r[system][doc] > 0 && one.r[system][doc] <= depth;
  return one.d.reduce((n, _, doc) => n + (first(a, doc) && first(b, doc) ? 1 : 0), 0);
}

/** The colour of a grade: three greens for any range, and grey for 0 and below. */
function gradeTone(grade) {
  if (grade == null) return "unjudged";
  if (grade <= 0) return "g0";
  return `g${within(Math.ceil((3 * grade) / (content.grades?.top || 1)), 1, 3)}`;
}

/** The grade from which documents are relevant to the measure; 1 for groups, where it is not known. */
const relevantFrom = () => measures[choice.scored].from ?? 1;

/** A grade as a chip; its colour is never alone. */
function chip(grade) {
  const said = grade == null ? "not judged" : `grade ${plain(grade)}`;
  const text = grade == null ? "–" : plain(Number(grade.toFixed(2))).replace(/^(−?)0\./, "$1.");
  return make(
    "span",
    { class: `chip ${gradeTone(grade)}`, title: said },
    make("span", { class: "sr" }, grade == null ? said : "grade "),
    make("span", { "aria-hidden": grade == null }, text),
  );
}
