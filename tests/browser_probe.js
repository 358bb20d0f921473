// What is wrong with the page that is shown, as lists of short descriptions. Loaded by browser.py.

function name(element) {
  const id = element.id ? "#" + element.id : "";
  const own = [...element.classList].map((part) => "." + part).join("");
  const text = (element.getAttribute("aria-label") || element.textContent || "").trim().replace(/\s+/g, " ");
  const all = [...document.querySelectorAll(element.tagName)];
  return `${element.tagName.toLowerCase()}${id}${own}[${all.indexOf(element)}] "${text.slice(0, 40)}"`;
}

function sideways() {
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= room) return [];
  const wide = [...document.body.querySelectorAll("*")].filter((element) => {
    if (element.getBoundingClientRect().right <= room + 1) return false;
    for (let up = element.parentElement; up && up !== document.body; up = up.parentElement)
      if (getComputedStyle(up).overflowX !== "visible") return false;
    return true;
  });
  return [`the page is ${document.documentElement.scrollWidth} px wide, not ${room}`, ...wide.map(name)];
}

const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const known = new Map();

function rgba(colour) {
  if (!known.has(colour)) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    known.set(colour, [r, g, b, a / 255]);
  }
  return known.get(colour);
}

function over(top, below) {
  return [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
}

function backdrop(element) {
  const layers = [];
  for (let up = element; up; up = up.parentElement) {
    const colour = rgba(getComputedStyle(up).backgroundColor);
    if (colour[3] > 0) layers.push(colour);
    if (colour[3] === 1) break;
  }
  return layers.reduceRight((below, top) => over(top, below), [255, 255, 255, 1]);
}

function luminance(colour) {
  const [r, g, b] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function opacity(element) {
  let share = 1;
  for (let up = element; up; up = up.parentElement) share *= Number(getComputedStyle(up).opacity);
  return share;
}

function faint() {
  document.querySelectorAll("details").forEach((details) => (details.open = true));
  const found = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility({ visibilityProperty: true })) continue;
    if (element.closest("script, style, title, desc")) continue;
    const style = getComputedStyle(element);
    const below = backdrop(element);
    const ink = [...rgba(element.closest("svg") ? style.fill : style.color)];
    ink[3] *= opacity(element);
    const [dark, light] = [luminance(over(ink, below)), luminance(below)].sort((a, b) => a - b);
    const ratio = (light + 0.05) / (dark + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5))
      found.add(`${ratio.toFixed(2)} ${name(element)}: ${texts.currentNode.data.trim().slice(0, 30)}`);
  }
  return [...found];
}

const FOCUSABLE =
  "a[href], button, input, select, textarea, summary, [tabindex]:not([tabindex='-1']), [contenteditable]";

function controls() {
  return [...document.querySelectorAll(FOCUSABLE)]
    .filter((element) => !element.disabled && element.checkVisibility({ visibilityProperty: true }))
    .filter((element) => element.type !== "radio" || element.checked || !element.name)
    .map(name);
}

function focused() {
  const element = document.activeElement;
  if (!element || element === document.body || element === document.documentElement) return null;
  const style = getComputedStyle(element);
  const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const seen = ring || style.boxShadow !== "none";
  return name(element) + (seen ? "" : " (unseen)");
}

function labelled(element) {
  const by = element.getAttribute("aria-labelledby");
  if (by) return by.split(/\s+/).every((id) => document.getElementById(id)?.textContent.trim());
  const own = element.getAttribute("aria-label") || element.title || element.alt || "";
  const label = element.labels?.[0]?.textContent || "";
  return Boolean((own + label + element.textContent).trim());
}

function untitled() {
  const found = [];
  if (!document.documentElement.lang) found.push("the page has no language");
  if (!document.title.trim()) found.push("the page has no title");
  if (document.querySelectorAll("main").length !== 1) found.push("the page has not one main landmark");
  if (document.querySelectorAll("h1").length !== 1) found.push("the page has not one h1");
  let before = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const level = Number(heading.tagName[1]);
    if (level > before + 1) found.push(`h${before} is followed by ${name(heading)}`);
    before = level;
  }
  for (const control of document.querySelectorAll(FOCUSABLE))
    if (!labelled(control)) found.push(`no name: ${name(control)}`);
  for (const picture of document.querySelectorAll("svg:not([aria-hidden='true']), img"))
    if (!labelled(picture) || (picture.tagName === "svg" && picture.getAttribute("role") !== "img"))
      found.push(`no name or role: ${name(picture)}`);
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of ids.filter((id, at) => ids.indexOf(id) !== at)) found.push(`two elements with id ${id}`);
  return found;
}
