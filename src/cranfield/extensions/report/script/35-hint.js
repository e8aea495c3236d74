// The box beside the pointer. It is not read out: the page also has its text elsewhere.

const hintBox = byId("hint");

/** Show lines beside the pointer, the first in bold. */
function hint(event, lines) {
  const [title, ...others] = lines.filter(Boolean);
  hintBox.replaceChildren(make("b", {}, title), others.join("\n"));
  hintBox.hidden = false;
  const { width, height } = hintBox.getBoundingClientRect();
  const below = event.clientY + 18 + height < innerHeight;
  hintBox.style.left = `${within(event.clientX + 14, 8, Math.max(8, innerWidth - width - 8))}px`;
  hintBox.style.top = `${below ? event.clientY + 18 : event.clientY - height - 12}px`;
}

const hush = () => {
  hintBox.hidden = true;
};

addEventListener("keydown", (event) => {
  if (event.key === "Escape") hush();
});
addEventListener("scroll", hush, { passive: true });
