// One lane of the race: shows its text as it comes, keeps when each piece came, and plays it again.

export const seconds = (ms) => (ms >= 100 ? `${(ms / 1000).toFixed(2)} s` : `${Math.round(ms)} ms`);

export class Lane {
  constructor(figure) {
    this.figure = figure;
    this.text = figure.querySelector(".text");
    this.clock = figure.querySelector(".clock");
    this.arm = figure.querySelector(".arm");
    this.gauge = figure.querySelector(".done");
    this.reset();
  }

  reset() {
    this.pieces = [];
    this.wallMs = null;
    this.clear();
  }

  clear() {
    this.text.replaceChildren();
    this.clock.textContent = "";
    this.gauge.style.width = "0";
    this.shown = 0;
  }

  add(pieces) {
    for (const piece of pieces) {
      this.pieces.push(piece);
      this.show(piece);
      this.clock.textContent = seconds(piece.at_ms);
    }
  }

  show({ text, kind }) {
    const last = this.text.lastElementChild;
    if (last?.dataset.kind === kind) {
      last.textContent += text;
    } else {
      const span = document.createElement("span");
      span.dataset.kind = kind;
      if (kind === "held") span.className = "held";
      span.textContent = text;
      this.text.append(span);
    }
    this.shown += 1;
  }

  // The state at a time of the recorded race; `longestMs` is how long the slower lane took.
  at(ms, longestMs) {
    while (this.shown < this.pieces.length && this.pieces[this.shown].at_ms <= ms) {
      this.show(this.pieces[this.shown]);
    }
    const now = Math.min(ms, this.wallMs);
    this.clock.textContent = seconds(now) + (ms >= this.wallMs ? ", done" : "");
    this.gauge.style.width = `${(100 * now) / longestMs}%`;
    return ms >= this.wallMs;
  }
}

// Plays lanes side by side; resolves when the last is done or `signal` is aborted, and then all is shown.
export function play(lanes, speed, signal) {
  const longestMs = Math.max(...lanes.map((lane) => lane.wallMs));
  for (const lane of lanes) lane.clear();
  return new Promise((resolve) => {
    const started = performance.now();
    const frame = (now) => {
      const ms = signal.aborted ? Infinity : (now - started) * speed;
      const over = lanes.map((lane) => lane.at(ms, longestMs));
      if (over.every(Boolean)) resolve();
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
}
