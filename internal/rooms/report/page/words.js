// Elements and number formats.

// el creates an element. Attributes "on..." are listeners, true is an empty attribute, and
// false, null and undefined are omitted. Children are nodes and texts.
function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

// svg creates an SVG element.
function svg(tag, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

// slug converts a text to an element id.
const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "") || "x";

const none = "–";
const known = (v) => v !== null && v !== undefined && Number.isFinite(v);
const superscripts = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const power = (n) => "10" + String(n).replace(/[-0-9]/g, (c) => superscripts[c]);

// figure formats a number with significant digits.
function figure(v, digits = 4) {
  if (!known(v)) return none;
  if (v === 0) return "0";
  const size = Math.abs(v);
  if (size >= 1e-3 && size < 1e6) return String(Number(v.toPrecision(digits)));
  const [mantissa, exponent] = v.toExponential(digits - 1).split("e");
  return Number(mantissa) + "·" + power(Number(exponent));
}

const plainUnit = { name: "", size: 1 };

// unitFor returns the largest unit that is at most a number.
function unitFor(units, most) {
  let chosen = units[0] || plainUnit;
  for (const u of units) if (u.size <= most) chosen = u;
  return chosen;
}

// amount formats a number in a suitable unit.
function amount(v, units, digits = 4) {
  if (!known(v)) return none;
  const u = v === 0 ? units.find((x) => x.size === 1) || units[0] || plainUnit : unitFor(units, Math.abs(v));
  return figure(v / u.size, digits) + (u.name ? " " + u.name : "");
}

const percent = (v) => (known(v) ? (100 * v).toFixed(v < 0.0995 ? 1 : 0) + " %" : none);
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const plural = (n, one, many) => n.toLocaleString("en") + " " + (n === 1 ? one : many || one + "s");

// choice returns a labeled selection; options are [value, text].
function choice(id, label, options, value, change) {
  const select = el("select", { id, onchange: () => change(select.value) },
    options.map(([v, text]) => el("option", { value: v, selected: String(v) === String(value) }, text)));
  return el("label", { class: "control", for: id }, el("span", {}, label), select);
}

// tick returns a labeled checkbox.
function tick(id, label, value, change) {
  const box = el("input", { type: "checkbox", id, checked: value, onchange: () => change(box.checked) });
  return el("label", { class: "control", for: id }, box, el("span", {}, label));
}
