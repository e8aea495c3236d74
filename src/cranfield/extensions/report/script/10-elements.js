// Elements. Everything from files reaches the document as text or as the value of an attribute whose
// name is written here: there is no innerHTML, and no style or address that comes from data.

const SVG = "http://www.w3.org/2000/svg";

/** @param {string} id @returns {HTMLElement} */
const byId = (id) => document.getElementById(id);

/** Set attributes (false and null: none) and listeners (`onclick: f`), and append children. */
function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

/** An element of HTML. */
const make = (tag, attributes = {}, ...children) =>
  furnish(document.createElement(tag), attributes, children);

/** An element of SVG. */
const draw = (tag, attributes = {}, ...children) =>
  furnish(document.createElementNS(SVG, tag), attributes, children);

/** A text of a chart. */
const label = (x, y, text, kind = "", more = {}) => draw("text", { x, y, class: kind, ...more }, text);

// Characters that move the cursor, change the direction of the text, or end a line.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]/gu;

/** A text from a file as it can be shown: control characters as \u202e, and not longer than `most`. */
function shown(text, most = 300) {
  const seen = String(text).replace(
    UNSEEN,
    (one) => "\\u" + one.charCodeAt(0).toString(16).padStart(4, "0"),
  );
  return seen.length > most ? seen.slice(0, most - 1) + "…" : seen;
}

/** A name in a direction of its own. */
const name = (text, most) => make("bdi", {}, shown(text, most));

/** Wait for the next task, so that no piece of work is long. */
const rest = () => new Promise((done) => setTimeout(done));

/** A number between two bounds. */
const within = (value, least, most) => Math.max(least, Math.min(most, value));
