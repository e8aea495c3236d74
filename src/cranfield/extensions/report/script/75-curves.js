// How quality changes down the ranking: a measure over cutoffs, and precision over recall.

function depthCurves() {
  const { cutoffs, recall: byRecall, level } = content;
  const said = [];
  if (cutoffs) {
    said.push(`Mean ${shown(cutoffs.measure, 40)}@k as the cutoff grows.`);
    const marks = cutoffs.at.filter((k) => [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000].includes(k));
    curves(byId("cutoffs"), cutoffs, { marks, log: true, across: "cutoff k", up: `${shown(cutoffs.measure, 24)}@k` });
  }
  if (byRecall) {
    said.push("Precision at each level of recall, interpolated, mean of all queries.");
    const marks = [0, 0.2, 0.4, 0.6, 0.8, 1];
    curves(byId("recall"), byRecall, { marks, log: false, across: "recall", up: "precision" });
  }
  said.push(`${two ? `${systemName(choice.a)} and ${systemName(choice.b)}` : "The band:"} ${two ? "with their" : "the"} ${level} interval${two ? "s" : ""}.`);
  byId("depth-said").textContent = said.join(" ");
}

/** A line for each system; A's and B's with the band of their intervals. */
function curves(figure, { at, mean, low, high }, { marks, log, across, up }) {
  const height = 300;
  const chosen = [choice.b, choice.a].filter((system) => system != null);
  const end = at.length - 1;
  const told = (system) =>
    `${systemName(system, 40)} from ${fixed(mean[system][0], 3)} at ${plain(at[0])} to ${fixed(mean[system][end], 3)} at ${plain(at[end])}`;
  const others = systems.length - chosen.length;
  const { svg, width } = canvas(
    figure,
    height,
    `${up} by ${across}: ${chosen.map(told).join("; ")}${others > 0 ? `; and ${many(others, "other system")} in grey` : ""}`,
  );
  const room = Math.min(150, width * 0.28);
  const [left, right, top, bottom] = [38, width - room, 20, height - 36];
  const every = [...mean.flat(), ...chosen.flatMap((system) => [...low[system], ...high[system]])].filter(
    (value) => value != null,
  );
  const [least, most] = [Math.min(...every), Math.max(...every)];
  const pad = 0.03 * (most - least) || 0.05;
  const y = scale(least < 0 ? least - pad : Math.max(0, least - pad), most + pad, bottom, top);
  const warp = log ? Math.log : (value) => value;
  const along = scale(warp(at[0]), warp(at[end]), left, right);
  const x = (value) => along(warp(value));

  levels(svg, ticks(Math.max(0, least - pad), most + pad, 5), y, left, right);
  for (const mark of marks) svg.append(label(x(mark), bottom + 17, plain(mark), "mid"));
  svg.append(label((left + right) / 2, height - 3, across, "mid"), label(left - 30, 10, up, "name"));

  const spot = (values) => (value, i) => `${x(value).toFixed(1)},${y(values[i]).toFixed(1)}`;
  const path = (values) => "M" + at.map(spot(values)).join("L");
  for (const system of chosen) {
    const edge = "M" + at.map(spot(high[system])).join("L");
    const back = "L" + at.map(spot(low[system])).reverse().join("L") + "Z";
    if (low[system].every((value) => value != null))
      svg.append(draw("path", { d: edge + back, class: `fill-${toneOf(system)} band` }));
  }
  const lines = systems.map((_, system) => {
    const tone = toneOf(system);
    return draw("path", { d: path(mean[system]), class: tone === "0" ? "other" : `curve line-${tone}`, "data-s": system });
  });
  svg.append(...lines.filter((_, system) => !chosen.includes(system)), ...chosen.map((system) => lines[system]));
  svg.append(...endLabels(chosen, (system) => y(mean[system][end]), right + 8, room));
  const nearest = (px, py) => {
    if (px < left - 8 || px > right + 8) return null;
    const i = at.reduce((near, value, k) => (Math.abs(x(value) - px) < Math.abs(x(at[near]) - px) ? k : near), 0);
    const away = (system) => Math.abs(y(mean[system][i]) - py);
    const system = systems.reduce((near, _, s) => (away(s) < away(near) ? s : near), 0);
    lines.forEach((line, s) => line.classList.toggle("lit", s === system && away(system) < 24));
    return away(system) < 24 ? { system, i } : null;
  };
  const tell = ({ system, i }) => [
    systemName(system, 60),
    `${up.replace("@k", `@${plain(at[i])}`)}${log ? "" : ` at recall ${plain(at[i])}`}  ${fixed(mean[system][i], 4)}`,
    low[system][i] == null ? "" : `${content.level} interval ${fixed(low[system][i], 3)} to ${fixed(high[system][i], 3)}`,
  ];
  const settle = () => lines.forEach((line) => line.classList.remove("lit"));
  follow(svg, nearest, tell, null, settle);
  figure.replaceChildren(svg);
}

/** The names at the ends of the lines, pushed apart where they would overlap. */
function endLabels(chosen, y, x, room) {
  const ends = chosen.map((system) => ({ system, at: y(system) })).sort((one, other) => one.at - other.at);
  if (ends.length === 2 && ends[1].at - ends[0].at < 16) {
    const middle = (ends[0].at + ends[1].at) / 2;
    [ends[0].at, ends[1].at] = [middle - 8, middle + 8];
  }
  return ends.map(({ system, at }) =>
    label(x, at + 4, systemName(system, Math.floor(room / 7)), `name strong t${toneOf(system)}`),
  );
}
