// What the page holds: format 1. A system, a query and a measure are their numbers here.

const content = JSON.parse(byId("data").textContent);
const { systems, queries, measures } = content;
const N = queries.length;

/** Scores of each measure that has them: systems x queries, in one row. */
let scores = /** @type {Float64Array[]} */ ([]);
/** Rankings of each query that has them. */
let lists = /** @type {Map<number, any> | null} */ (null);
/** Worksheets, by "query,system". */
let sheets = new Map();

const hasScores = (measure) => measures[measure].queries != null;
const anyScores = measures.some((one) => one.queries != null);
const two = systems.length > 1;

const systemName = (system, most = 80) => shown(systems[system], most);
const measureName = (measure, most = 60) => shown(measures[measure].name, most);

/** How many documents of each query are relevant to the measure; null where that is not known. */
const relevantTo = (measure) => content.n_relevant?.[measures[measure].relevant] ?? null;

/** What a query asks; its id where there is no text. */
const question = (query, most = 300) => {
  const text = content.texts?.[query];
  return text ? shown(text, most) : shown(queries[query], most);
};
/** Remarks on a part of the page: sentences, with a blank before them. */
const alsoSaid = (part) => (content.said[part] ?? []).map((one) => ` ${shown(one, 1000)}`).join("");
const hasText = (query) => Boolean(content.texts?.[query]);

/** Bytes of a text in base64. */
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const decoded = atob(text);
  const bytes = new Uint8Array(decoded.length);
  for (let i = 0; i < decoded.length; i++) bytes[i] = decoded.charCodeAt(i);
  return bytes;
}

/** What an element holds as base64 of gzip, or null if it is empty. */
function unpacked(id) {
  const text = byId(id).textContent.trim();
  if (!text) return null;
  const packed = new Blob([bytesOf(text)]).stream();
  return new Response(packed.pipeThrough(new DecompressionStream("gzip")));
}

/** Read the scores: doubles, or 16 bits in steps of 1/unit, measure after measure. */
async function readScores() {
  const packed = unpacked("scores");
  if (!packed) return;
  const buffer = await packed.arrayBuffer();
  const size = systems.length * N;
  let at = 0;
  const placed = measures.filter((one) => one.queries != null).sort((x, y) => x.queries - y.queries);
  for (const { queries: place, unit } of placed) {
    const bytes = size * (unit ? 2 : 8);
    const block = buffer.slice(at, at + bytes); // a copy begins where a double may
    scores[place] = unit
      ? Float64Array.from(new Uint16Array(block), (step) => step / unit)
      : new Float64Array(block);
    at += bytes;
  }
}

async function readLists() {
  const packed = unpacked("lists");
  const text = packed ? await packed.text() : "{}";
  await rest();
  lists = new Map(Object.entries(JSON.parse(text)).map(([query, one]) => [Number(query), one]));
}

async function readSheets() {
  const packed = unpacked("sheets");
  if (!packed) return;
  const text = await packed.text();
  await rest();
  sheets = new Map(Object.entries(JSON.parse(text)));
}
