// The bar: A, B, the measure, the theme, the sections.

/** Choose the system of one side; if it is the other's, the two change places. */
function chooseSide(side, system) {
  if (side === "a") choosePair(system, system === choice.b ? choice.a : choice.b);
  else choosePair(system === choice.a ? choice.b : choice.a, system);
}

function startControls() {
  const names = () => ranked(0).map((system) => make("option", { value: system }, systemName(system)));
  byId("pick-a").append(...names());
  byId("pick-a").addEventListener("change", ({ target }) => chooseSide("a", Number(target.value)));
  if (two) {
    byId("pick-b").append(...names());
    byId("pick-b").addEventListener("change", ({ target }) => chooseSide("b", Number(target.value)));
    byId("swap").addEventListener("click", () => choosePair(choice.b, choice.a));
  } else for (const id of ["side-a", "swap", "side-b"]) byId(id).remove();
  const measure = (_, i) =>
    make("option", { value: i }, measureName(i) + (anyScores && !hasScores(i) ? " (means only)" : ""));
  byId("pick-measure").append(...measures.map(measure));
  byId("pick-measure").addEventListener("change", ({ target }) =>
    choosePair(choice.a, choice.b, Number(target.value)),
  );
  byId("choice").addEventListener("submit", (event) => event.preventDefault());
  startTheme();
  startSections();
}

/** Show in the bar what is chosen. */
function showControls() {
  if (two) {
    byId("pick-a").value = String(choice.a);
    byId("pick-b").value = String(choice.b);
  }
  byId("pick-measure").value = String(choice.measure);
}

function startTheme() {
  const { dataset } = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (dataset.theme ? dataset.theme === "dark" : system.matches);
  const tell = () => byId("theme").setAttribute("aria-pressed", String(isDark()));
  byId("theme").addEventListener("click", () => {
    dataset.theme = isDark() ? "light" : "dark";
    tell();
    try {
      localStorage.setItem("cranfield-theme", dataset.theme);
    } catch {
      // Where nothing may be stored, the choice lasts as long as the page.
    }
  });
  system.addEventListener("change", tell);
  tell();
}

/** Links to sections keep the state in the address; the one that is read is marked. */
function startSections() {
  const links = new Map([...byId("nav").querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
  for (const [id, link] of links) {
    const section = document.getElementById(id);
    if (!section) {
      link.remove();
      continue;
    }
    section.tabIndex = -1;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      section.scrollIntoView();
      section.focus({ preventScroll: true });
    });
  }
  const mark = (id) => {
    for (const [other, link] of links) {
      if (other === id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) if (entry.isIntersecting && links.has(entry.target.id)) mark(entry.target.id);
    },
    { rootMargin: "-20% 0px -75% 0px" },
  );
  for (const section of document.querySelectorAll("main > section[id]")) seen.observe(section);
}
