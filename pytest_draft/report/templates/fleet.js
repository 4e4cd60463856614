"use strict";
(() => {
  const table = document.getElementById("models");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const search = document.getElementById("search");
  const verdict = document.getElementById("verdict");
  const change = document.getElementById("change");
  const told = document.getElementById("told");
  const key = (row, column) => row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

  const sort = (column, direction) => {
    const numeric = rows.every((row) => !Number.isNaN(Number(key(row, column))));
    const sorted = rows.map((row) => [key(row, column), row]).sort(([a, r], [b, s]) => {
      if (a === "" || b === "") return (a === "") - (b === "");
      const order = numeric ? Number(a) - Number(b) : a.localeCompare(b);
      return direction * order || rows.indexOf(r) - rows.indexOf(s);
    });
    body.append(...sorted.map(([, row]) => row));
  };

  const filter = () => {
    const words = search.value.toLowerCase().split(" ").filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const wanted = words.every((word) => texts.get(row).includes(word))
        && (!verdict.value || row.dataset.verdict === verdict.value)
        && (!change || !change.value || row.dataset.change === change.value);
      row.hidden = !wanted;
      shown += wanted;
    }
    told.textContent = `${shown} of ${rows.length} models shown`;
  };

  Array.from(table.tHead.rows[0].cells).forEach((cell, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = cell.textContent;
    button.addEventListener("click", () => {
      const direction = cell.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      sort(column, direction);
    });
    cell.replaceChildren(button);
  });
  for (const input of [search, verdict, change]) if (input) input.addEventListener("input", filter);
  document.getElementById("tools").hidden = false;
  filter();
})();
