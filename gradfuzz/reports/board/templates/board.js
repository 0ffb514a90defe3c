"use strict";
(() => {
  const root = document.body.dataset.root, box = document.querySelector(".find"), field = document.getElementById("find");
  const hits = document.getElementById("hits"), status = document.getElementById("status");
  box.hidden = false;
  const find = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length ? INDEX.filter(e => words.every(w => (e.t + " " + e.k).toLowerCase().includes(w))) : [];
    hits.replaceChildren(...found.slice(0, 20).map(e => {
      const item = document.createElement("li"), link = document.createElement("a"), kind = document.createElement("span");
      link.href = root + e.p;
      link.textContent = e.t + " ";
      kind.textContent = e.k;
      link.append(kind);
      item.append(link);
      return item;
    }));
    hits.hidden = !found.length;
    status.textContent = words.length ? `${found.length} found` : "";
  };
  field.addEventListener("input", find);
  document.addEventListener("keydown", event => {
    const links = [...hits.querySelectorAll("a")], at = links.indexOf(document.activeElement);
    if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
    else if (event.key === "Escape") { hits.hidden = true; field.focus(); }
    else if (event.key === "ArrowDown" && (document.activeElement === field || at >= 0)) { event.preventDefault(); links[Math.min(at + 1, links.length - 1)]?.focus(); }
    else if (event.key === "ArrowUp" && at >= 0) { event.preventDefault(); (links[at - 1] ?? field).focus(); }
  });
  const filters = document.getElementById("filters");
  if (filters) {
    filters.hidden = false;
    const chosen = ["family", "mode", "dtype"].map(id => document.getElementById(id)), only = document.getElementById("only");
    const show = () => {
      for (const row of document.querySelectorAll(".board tbody tr")) {
        let any = false;
        for (const cell of row.querySelectorAll("[data-kinds]")) {
          const kinds = cell.dataset.kinds.split(" ").map(kind => kind.split("/"));
          const fits = kinds.some(kind => chosen.every((control, at) => !control.value || control.value === kind[at]));
          cell.classList.toggle("wrong", fits);
          any ||= fits;
        }
        row.hidden = only.checked && !any;
      }
    };
    for (const control of [...chosen, only]) control.addEventListener("change", show);
  }
  for (const pre of document.querySelectorAll("pre[data-copy]")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(pre.textContent); button.textContent = "Copied"; }
      catch { getSelection().selectAllChildren(pre); button.textContent = "Selected"; }
      status.textContent = button.textContent;
    });
    pre.after(button);
  }
})();
