// Fetches the runs' verdicts, one after the other: each takes the server a moment.

for (const badge of document.querySelectorAll("[data-run]")) {
  const answer = await fetch("/verdict?" + new URLSearchParams({ id: badge.dataset.run }));
  if (!answer.ok) continue;
  const { verdict, why } = await answer.json();
  badge.textContent = verdict ?? "no verdict";
  badge.classList.add(verdict ?? "empty");
  badge.title = why;
}
