"use strict";
// Makes a report handier; all of it can be read without. Loads and sends nothing.

// Flips: find words, one arm, regressions only.
for (const form of document.querySelectorAll("form.filter")) {
  const articles = [...document.querySelectorAll("#flips article")];
  const { find, arm, only, found } = form.elements;
  const choose = () => {
    const words = find.value.trim().toLowerCase();
    let count = 0;
    for (const article of articles) {
      const fits =
        (!arm.value || article.dataset.arm === arm.value) &&
        (!only.checked || "regression" in article.dataset) &&
        (!words || article.textContent.toLowerCase().includes(words));
      article.hidden = !fits;
      count += fits;
    }
    found.value = `${count} of ${articles.length} attempts shown`;
  };
  form.addEventListener("input", choose);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  choose();
}

// A link leads to its flip even where the filter hides it.
addEventListener("hashchange", () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target?.hidden) {
    target.hidden = false;
    target.scrollIntoView();
  }
});

// Tables: a column's head sorts by it.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      const value = (row) => {
        const text = row.cells[column].textContent.trim();
        const number = parseFloat(text.replace(/^[<>]/, ""));
        return Number.isNaN(number) ? text : number;
      };
      const rows = [...body.rows].map((row) => [value(row), row]);
      rows.sort(([a], [b]) => {
        const [numbered, other] = [typeof a === "number", typeof b === "number"];
        if (numbered !== other) return numbered ? -1 : 1;
        const order = numbered ? a - b : a.localeCompare(b);
        return down ? -order : order;
      });
      for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...rows.map(([, row]) => row));
    });
  });
}

// Pictures: pointing at a mark, or the arrow keys, say which unit it is.
for (const plot of document.querySelectorAll(".plot.left")) {
  const marks = [...plot.querySelectorAll("use.mark")];
  const readout = plot.parentElement.querySelector(".readout");
  const name = (mark) => mark.querySelector("title").textContent;
  let chosen = -1;
  const choose = (place) => {
    marks[chosen]?.classList.remove("chosen");
    chosen = place;
    const mark = marks[chosen];
    mark?.classList.add("chosen");
    readout.textContent = mark ? name(mark) : "";
    readout.hidden = !mark;
  };
  plot.addEventListener("pointerover", (event) => {
    const place = marks.indexOf(event.target.closest?.("use.mark"));
    if (place >= 0) choose(place);
  });
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined && event.key !== "Escape") return;
    event.preventDefault();
    choose(step === undefined ? -1 : (chosen + step + marks.length) % marks.length);
  });
  plot.addEventListener("blur", () => choose(-1));
}

// On paper all details are open.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of closed) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of closed) details.open = false;
});
