// The race page: sends the form, shows what is streamed back, then plays both lanes side by side.

import { Lane, play, seconds } from "./lane.js";
import { eventsOf } from "./sse.js";

const $ = (id) => document.getElementById(id);
const form = $("race");
const lanes = { plain: new Lane($("lane-plain")), redraft: new Lane($("lane-redraft")) };
const still = matchMedia("(prefers-reduced-motion: reduce)");
let running = null; // the AbortController of the race that is on
let playing = null; // the AbortController of the playing that is on
let race = null; // what the race that is on, or the last, has brought
let tries = { of: "", speedups: [] };

function asked(first) {
  const field = (name) => form.elements[name];
  const old = field("stale").value;
  return {
    instruction: field("instruction").value,
    sources: [...form.querySelectorAll(".source")].map((part) => ({
      name: part.dataset.name,
      before: part.querySelector("[name=before]").value,
      after: part.querySelector("[name=after]").value,
    })),
    stale: old === "" ? null : old,
    edited: field("edited") ? field("edited").value : null,
    pinned: field("pinned") ? field("pinned").value.split("\n").filter((line) => line !== "") : [],
    max_tokens: Number(field("max_tokens").value),
    mode: field("mode").value,
    first,
  };
}

function begin() {
  playing?.abort();
  race = { spans: [], results: {}, stale: null, model: "" };
  for (const lane of Object.values(lanes)) lane.reset();
  for (const id of ["outcome", "old", "figures", "replay", "slow"]) $(id).hidden = true;
  $("tally").textContent = "";
  $("track").hidden = false;
  $("run").disabled = true;
  $("cancel").hidden = false;
}

function end(text, failed = false) {
  running = null;
  $("status").textContent = text;
  $("status").classList.toggle("lost", failed);
  $("run").disabled = false;
  $("cancel").hidden = true;
  for (const lane of Object.values(lanes)) lane.figure.classList.remove("on");
}

const on = {
  status: ({ text }) => ($("status").textContent = text),
  begin: ({ model }) => (race.model = model),
  stale: ({ text, edited }) => (race.stale = edited ?? text),
  lane: ({ lane, arm }) => {
    for (const [name, { figure }] of Object.entries(lanes)) figure.classList.toggle("on", name === lane);
    lanes[lane].arm.textContent = arm;
    $("status").textContent = `${arm} is writing, live`;
  },
  deltas: ({ lane, pieces }) => lanes[lane].add(pieces),
  spans: ({ lane, spans }) => lane === "redraft" && (race.spans = spans),
  result: (result) => {
    race.results[result.lane] = result;
    lanes[result.lane].wallMs = result.wall_ms;
  },
  outcome: (outcome) => (race.outcome = outcome),
  failed: ({ text }) => {
    throw new Error(text);
  },
};

async function run() {
  running = new AbortController();
  const { signal } = running;
  begin();
  $("status").textContent = "starting";
  const body = asked(tries.speedups.length % 2 ? "redraft" : "plain");
  try {
    const response = await fetch("/race", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
    if (!response.ok) throw new Error(`refused: ${await lineOf(response)}`);
    for await (const { name, data } of eventsOf(response)) on[name](data);
    if (!race.outcome) throw new Error("the race broke off");
  } catch (error) {
    const over = signal.aborted;
    end(over ? "Cancelled; the slot is free again." : error.message, !over);
    return;
  }
  end("Both are done; now side by side, at the times that were measured.");
  count(body);
  showFigures();
  showOld();
  if (still.matches) for (const lane of Object.values(lanes)) lane.at(Infinity, longest());
  else await playAgain(1);
  $("status").textContent = race.model ? `Raced on ${race.model}.` : "";
  showOutcome();
}

// What a page of one line says.
async function lineOf(response) {
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return page.querySelector("main p")?.textContent ?? page.body.textContent;
}

const longest = () => Math.max(...Object.values(lanes).map((lane) => lane.wallMs));

async function playAgain(speed) {
  playing?.abort();
  playing = new AbortController();
  await play(Object.values(lanes), speed, playing.signal);
}

function count(body) {
  const of = JSON.stringify({ ...body, first: null });
  if (tries.of !== of) tries = { of, speedups: [] };
  tries.speedups.push(race.outcome.speedup);
}

function showOutcome() {
  const { headline, tokens, won, identical } = race.outcome;
  $("headline").textContent = headline;
  $("headline").className = won;
  $("tokens").textContent = tokens;
  $("tokens").className = identical ? "same" : "other";
  $("outcome").hidden = $("replay").hidden = $("slow").hidden = false;
}

function showFigures() {
  const rows = Object.values(race.results).sort((a, b) => (a.lane < b.lane ? -1 : 1));
  $("figures").tBodies[0].replaceChildren(
    ...rows.map((result) => {
      const row = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = lanes[result.lane].arm.textContent;
      const patched = result.patched ? `, ${result.patched} of them patched` : "";
      const waited = result.queued_ms >= 1 ? ` (after ${seconds(result.queued_ms)} in the queue)` : "";
      const values = [
        seconds(result.wall_ms) + waited,
        result.first_ms === null ? "-" : seconds(result.first_ms),
        seconds(result.prompt_ms),
        result.lane === "plain" ? "one a token" : (result.passes ?? "-"),
        result.tokens,
        result.lane === "plain" ? "-" : `${Math.floor(result.held * 100)}%${patched}`,
        result.lane === "plain" ? "-" : result.divergences,
      ];
      row.append(head, ...values.map((value) => Object.assign(document.createElement("td"), { textContent: value })));
      return row;
    }),
  );
  $("figures").hidden = false;
  const sorted = [...tries.speedups].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const median = (sorted[Math.floor(middle)] + sorted[Math.ceil(middle) - 1]) / 2;
  $("tally").textContent =
    sorted.length > 1
      ? `${sorted.length} tries of this edit: speedup ${sorted[0].toFixed(2)}x to ${sorted.at(-1).toFixed(2)}x, median ${median.toFixed(2)}x.`
      : "";
}

// Span offsets are UTF-16 code units, as strings here have them.
function showOld() {
  const parts = race.spans.map(({ kind, old: [start, stop] }) => {
    const part = document.createElement("span");
    part.className = kind === "held" ? "held" : "gone";
    part.textContent = race.stale.slice(start, stop);
    return part;
  });
  $("old").querySelector(".text").replaceChildren(...parts);
  $("old").hidden = false;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!running) run();
});
$("cancel").addEventListener("click", () => running?.abort());
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  running?.abort();
  playing?.abort();
});
$("replay").addEventListener("click", () => playAgain(1));
$("slow").addEventListener("click", () => playAgain(0.25));
$("run").disabled = false;
