"use strict";
// Adds to a page that is complete without it: sorting, filtering, copying, keys, and a theme that is remembered.
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const say = (words) => { $("status").textContent = words; };

  // A file opened from disk may have no storage.
  const stored = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const store = (key, value) => { try { localStorage.setItem(key, value); } catch { /* it is forgotten */ } };

  for (const input of all(".theme input")) {
    if (stored("gradfuzz-theme") === input.id) input.checked = true;
    input.addEventListener("change", () => store("gradfuzz-theme", input.id));
  }

  // Copying
  const copied = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return false;
    }
  };
  const select = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  };
  const addCopyButtons = (within) => {
    for (const pre of all("pre[data-copy]", within)) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      pre.after(button);
      button.addEventListener("click", async () => {
        const done = await copied(pre.textContent);
        if (!done) select(pre);
        button.textContent = done ? "Copied" : "Selected";
        say(done ? "Copied" : "Selected; press Ctrl+C");
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
    }
  };
  addCopyButtons($("environment"));
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        near.unobserve(target);
        addCopyButtons(target);
      }
    }
  }, { rootMargin: "50%" });
  for (const article of all("article")) near.observe(article);

  // In the map of functions the arrow keys go from cell to cell.
  for (const map of all(".map")) {
    map.addEventListener("keydown", (event) => {
      const cells = all(".cell", map), at = cells.indexOf(event.target);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: cells.length - 1 }[event.key];
      if (at < 0 || !cells[to] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      if (!event.target.href) event.target.tabIndex = -1;
      cells[to].tabIndex = 0;
      cells[to].focus();
    });
  }

  // Articles get their heights when they come near, and not every browser keeps the view in place then: aim until it rests.
  let aimed;
  const aim = (target, last, still = 0) => {
    if (target !== aimed) return;
    target.scrollIntoView();
    const place = Math.round(scrollY + target.getBoundingClientRect().top);
    still = place === last ? still + 1 : 0;
    if (still < 3) requestAnimationFrame(() => aim(target, place, still));
  };
  const show = (target) => {
    aimed = target;
    aim(target);
  };
  const target = (hash) => $(hash.slice(1));
  // At once: where a browser follows a link, the focus comes a frame later, and may take keys from what was opened since.
  const go = (hash) => {
    history.pushState(null, "", hash);
    show(target(hash));
    target(hash).focus({ preventScroll: true });
  };
  document.addEventListener("click", (event) => {
    const a = event.target.closest("a[href^='#']");
    if (!a || !target(a.hash) || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (target(a.hash).matches("article")) {
      event.preventDefault();
      go(a.hash);
    } else {
      show(target(a.hash));
    }
  });
  addEventListener("load", () => { if (target(location.hash)) show(target(location.hash)); });

  const table = $("table");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const visible = () => [...body.rows].filter((row) => !row.hidden);

  // Sorting
  const heads = all("th[data-sort]", table);
  const value = (row, k, kind) => {
    const cell = row.cells[k];
    const text = cell.dataset.v ?? cell.textContent.trim();
    if (kind === "text") return text;
    const number = parseFloat(text.replace(/[,×]/g, "").replace(/^(-?)(inf)\w*$/, "$1Infinity"));
    return Number.isNaN(number) ? null : number;
  };
  const sort = (head, down) => {
    const k = heads.indexOf(head), kind = head.dataset.sort;
    const compare = (a, b) => (kind === "text" ? a.localeCompare(b, "en", { numeric: true }) : a - b);
    const keyed = [...rows].map((row) => [row, value(row, k, kind)]);
    keyed.sort(([, a], [, b]) => {
      if (a === null || b === null) return (a === null) - (b === null); // no number: last, either way
      return down ? compare(b, a) : compare(a, b);
    });
    body.append(...keyed.map(([row]) => row));
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    say(`Sorted by ${head.textContent}, ${down ? "descending" : "ascending"}`);
  };
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(head, head.getAttribute("aria-sort") === "ascending"));
  }

  // Filtering: every word must occur in a row or in its cause.
  const filter = $("filter");
  const texts = new Map(rows.map((row) => [row, `${row.textContent} ${row.dataset.words ?? ""}`.toLowerCase()]));
  const narrow = () => {
    const wanted = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !wanted.every((word) => texts.get(row).includes(word));
    const n = visible().length;
    $("filter-count").textContent = n === rows.length ? `${n} shown` : `${n} of ${rows.length} shown`;
    say($("filter-count").textContent);
  };
  filter.addEventListener("input", narrow);
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { filter.value = ""; narrow(); }
    if (event.key === "Enter" || event.key === "ArrowDown") { event.preventDefault(); move(0); }
  });
  $("tools").hidden = false;

  // Keys: in an article j and k go to the next one, elsewhere through the rows of the table.
  const keys = $("keys");
  keys.checked = stored("gradfuzz-keys") !== "off";
  keys.addEventListener("change", () => store("gradfuzz-keys", keys.checked ? "on" : "off"));
  const link = (row) => row.querySelector("a");
  const move = (step) => {
    const links = visible().map(link).filter(Boolean);
    const here = document.activeElement.closest("article, tr");
    const at = links.findIndex((a) => here && (here === a.closest("tr") || `#${here.id}` === a.hash));
    const to = links[Math.min(links.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
    if (!to) return;
    if (here?.matches("article")) {
      go(to.hash);
    } else {
      to.focus();
    }
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    const inRow = event.target.closest("#table tbody");
    if (inRow && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (keys.checked && event.key === "/") {
      event.preventDefault();
      filter.focus();
      filter.select();
    } else if (keys.checked && (event.key === "j" || event.key === "k")) {
      move(event.key === "j" ? 1 : -1);
    } else if (keys.checked && event.key === "t") {
      visible().map(link).find(Boolean)?.focus();
    }
  });
})();
