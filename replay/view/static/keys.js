// "/" goes to the search box, as on many sites.

document.addEventListener("keydown", (event) => {
  const search = document.querySelector("input[type=search]");
  const typing = event.target.closest("input, textarea, select");
  if (event.key === "/" && search && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
  }
});
