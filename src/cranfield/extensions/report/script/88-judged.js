// How much was judged: for each system, at each rank. The darker, the less is judged.

function judged() {
  const figure = byId("judged");
  const { at, share } = content.judged;
  const rows = ranked(0);
  const row = systems.length > 20 ? 15 : 26;
  const height = rows.length * row + 24;
  const mean = (system) => {
    const known = share[system].filter((one) => one != null);
    return known.length ? known.reduce((sum, one) => sum + one, 0) / known.length : null;
  };
  const means = rows.map((system) => [system, mean(system)]).filter(([, one]) => one != null);
  const [least, most] = [means.reduce((x, y) => (y[1] < x[1] ? y : x), means[0]), means.reduce((x, y) => (y[1] > x[1] ? y : x), means[0])];
  const { svg, width } = canvas(
    figure,
    height,
    means.length
      ? `Share judged at ranks ${at[0]} to ${at[at.length - 1]}: on average from ${percentOf(least[1])} of ` +
          `${systemName(least[0], 40)} to ${percentOf(most[1])} of ${systemName(most[0], 40)}`
      : "Nothing was retrieved",
  );
  const left = nameRoom(width);
  const step = Math.min(50, (width - left) / at.length);
  rows.forEach((system, i) => {
    const y = i * row;
    svg.append(label(left - 10, y + row / 2 + 4, systemName(system, nameLength(width)), `name end${textTone(system)}`));
    share[system].forEach((one, k) => {
      if (one == null) return;
      const box = { x: left + k * step + 0.5, y: y + 1, width: step - 1, height: row - 2, rx: 2 };
      const shade = one === 1 ? 0.06 : 0.12 + 0.5 * (1 - one) ** 0.6;
      svg.append(draw("rect", { ...box, class: "hole", "fill-opacity": shade.toFixed(2) }));
      if (step > 34 && row > 20 && one < 1)
        svg.append(label(box.x + box.width / 2, y + row / 2 + 4, percentOf(one).slice(0, -1), "on mid"));
    });
  });
  at.forEach((rank, k) => {
    if (step > 22 || k === 0 || (k + 1) % 5 === 0)
      svg.append(label(left + (k + 0.5) * step, height - 6, String(rank), "mid"));
  });
  const under = (px, py) => {
    const [i, k] = [Math.floor(py / row), Math.floor((px - left) / step)];
    const one = rows[i] == null ? null : share[rows[i]][k];
    return one == null ? null : { system: rows[i], rank: at[k], one };
  };
  follow(svg, under, ({ system, rank, one }) => [
    systemName(system, 60),
    `${(100 * one).toFixed(1)}% of what it ranks at ${rank} is judged`,
  ]);
  figure.replaceChildren(svg);
  byId("holes-said").textContent =
    "Share of the documents at each rank that are judged, in percent. An empty cell: all are judged; the darker a cell, the fewer. " +
    "What is not judged counts as not relevant: a system with unjudged documents may be better than its score. " +
    (content.pool ? `To list what to judge next: ${shown(content.pool, 2000)}` : "");
}
