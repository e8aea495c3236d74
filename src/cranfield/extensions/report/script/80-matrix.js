// Which systems differ significantly: every pair, filled where the corrected test says so.

const MANY_SYSTEMS = 16; // of more, cells have no figures

function matrix() {
  const figure = byId("matrix");
  const rows = ranked();
  const room = figure.clientWidth || 900;
  const dense = systems.length > MANY_SYSTEMS || room < 560;
  const left = room < 560 ? 96 : dense ? 120 : 150;
  const width = Math.min(room < 560 ? room : room - 64, dense ? 1136 : left + systems.length * 78);
  const across = (width - left) / systems.length;
  const down = within(across, 12, dense ? 20 : 34);
  const longest = Math.min(16, Math.max(...systems.map((one) => one.length)));
  const top = room < 560 ? 6 : 22 + longest * (dense ? 5.6 : 4.4);
  const found = content.pairs[choice.measure];
  const apart = found.filter((pair) => pair[6]).length;
  const said =
    `${whole(apart)} of ${many(found.length, "pair")} differ significantly` +
    (found.some((pair) => pair[5] != null) ? ` (${content.tests.pairs})` : "");
  const svg = draw("svg", {
    viewBox: `0 0 ${room} ${Math.round(top + systems.length * down + 4)}`,
    role: "img",
    "aria-label": `${byRatio(choice.measure) ? "Ratios" : "Mean differences"} of all pairs of systems by ${measureName(choice.measure)}: ${said}`,
  });
  byId("pairs-said").replaceChildren(
    `${byRatio(choice.measure) ? "Ratio of geometric means" : "Mean difference"} of ${measureName(choice.measure)}, row ` +
      `${byRatio(choice.measure) ? "divided by" : "minus"} column. ${said}: these are filled, blue where the row is better. Click a cell to choose A and B.${alsoSaid("pairs")}`,
  );

  const most = Math.max(...found.map((pair) => Math.abs(asGain(pair[2], choice.measure))), 1e-9);
  rows.forEach((system, i) => {
    const y = top + i * down + down / 2 + 4;
    svg.append(label(left - 8, y, systemName(system, room < 560 ? 14 : dense ? 17 : 22), `name end${textTone(system)}`));
    if (room < 560) return;
    const turn = dense ? -60 : -38;
    const place = `translate(${left + i * across + across / 2 + 3},${top - 8}) rotate(${turn})`;
    svg.append(label(0, 0, systemName(system, 16), textTone(system), { transform: place }));
  });
  rows.forEach((a, i) =>
    rows.forEach((b, j) => {
      const pair = a === b ? null : pairOf(a, b);
      if (!pair) return;
      const at = { x: left + j * across + 1, y: top + i * down + 1, width: across - 2, height: down - 2 };
      const gain = asGain(pair.change, choice.measure);
      if (pair.verdict) {
        const shade = (0.14 + 0.4 * Math.min(1, Math.abs(gain) / most)).toFixed(2);
        svg.append(draw("rect", { ...at, class: `cell fill-${gain > 0 ? "a" : "b"}`, "fill-opacity": shade }));
      }
      if (dense || across < 36) return;
      const text = byRatio(choice.measure)
        ? `×${pair.change.toFixed(2)}`
        : signed(pair.change, 2).replace(/^([+−]?)0\./, "$1.");
      svg.append(label(at.x + at.width / 2, at.y + down / 2 + 3, text, pair.verdict ? "on mid" : "mid"));
    }),
  );
  const outline = (a, b) => {
    const [i, j] = [rows.indexOf(a), rows.indexOf(b)];
    const at = { x: left + j * across + 1, y: top + i * down + 1, width: across - 2, height: down - 2 };
    return draw("rect", { ...at, class: "chosen" });
  };
  svg.append(outline(choice.a, choice.b));

  const under = (px, py) => {
    const [i, j] = [Math.floor((py - top) / down), Math.floor((px - left) / across)];
    const [a, b] = [rows[i], rows[j]];
    return a == null || b == null || a === b || !pairOf(a, b) ? null : { a, b };
  };
  follow(svg, under, ({ a, b }) => pairLines(a, b), ({ a, b }) => choosePair(a, b));
  figure.replaceChildren(svg);
}

/** What Python found for a pair, in lines. */
function pairLines(a, b) {
  const { change, low, high, p, wins, ties, losses, better } = pairOf(a, b);
  const text = (value) => changeText(value, choice.measure);
  return [
    `${systemName(a, 40)} ${byRatio(choice.measure) ? "÷" : MINUS} ${systemName(b, 40)}  ${text(change)}`,
    low == null ? "" : `${content.level} interval ${text(low)} to ${text(high)}`,
    p == null ? "" : `${probability(p)} (${content.tests.pairs})`,
    better == null ? "" : `P(better) ${fixed(better, 2)}`,
    `better on ${whole(wins)}, the same on ${whole(ties)}, worse on ${whole(losses)}`,
  ];
}
