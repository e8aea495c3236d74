// Numbers as people read them.

const MINUS = "−";

/** A number with so many decimals, and a real minus. */
const fixed = (value, decimals) => {
  const text = value.toFixed(decimals);
  return value < 0 ? (Number(text) === 0 ? text.slice(1) : MINUS + text.slice(1)) : text;
};

/** A number with its sign; 0 has none. */
const signed = (value, decimals) => {
  const text = fixed(value, decimals);
  return value > 0 && Number(text) !== 0 ? "+" + text : text;
};

/** A number of an axis, without zeros at its end. */
const plain = (value) => String(Number(value.toPrecision(10))).replace("-", MINUS);

/** A number of which only the size matters: three significant digits. */
const short = (value) => plain(Number(value.toPrecision(3)));

const whole = (n) => n.toLocaleString("en");

/** "1 query", "7,000 queries". */
const many = (n, one, several = one + "s") => `${whole(n)} ${n === 1 ? one : several}`;

/** A share in whole percents; only the whole is 100 %. */
const percentOf = (share) => `${Math.min(Math.round(100 * share), share === 1 ? 100 : 99)}%`;

/** A corrected p, never as 0. */
const probability = (p) => (p < 0.00005 ? "p < 0.0001" : `p = ${p.toFixed(4)}`);

/** Steps of 1, 2 or 5 tens, at most about `n` of them. */
function ticks(low, high, n = 5) {
  const span = high - low || 1;
  let step = 10 ** Math.floor(Math.log10(span / n));
  step *= [1, 2, 5, 10].find((times) => span / (step * times) <= n) ?? 10;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

/** The value at a share of the way through sorted numbers, between two of them by proportion. */
function quantile(sorted, share) {
  const at = (sorted.length - 1) * share;
  const below = Math.floor(at);
  const above = Math.min(sorted.length - 1, below + 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - below);
}
