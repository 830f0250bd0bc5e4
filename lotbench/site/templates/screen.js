"use strict";
// One script for every page: it moves the focus and shows or hides what is there; it writes no markup.
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
let kept = {};
try { kept = sessionStorage; } catch { /* A browser that keeps nothing. */ }
const search = document.querySelector("[data-search]");
const rounds = all("[data-round]:not(form)");
const shownRows = () => all("a[data-row]").filter((row) => row.offsetParent);
const numbers = [...new Set(rounds.map((one) => Number(one.dataset.round)))].sort((a, b) => a - b);
let now = -1;
const live = document.querySelector(".live"), playback = document.querySelector("[data-watch]"), pace = 2500;
// A game opens with its last guess in the sentence; the first step is to its first round.
let watching = 0, fresh = false;
// Behind the curtain is what comes after the last round that was seen; "Show all" and the end of the game open it, a reload does not.
let seen = 0;
const curtainAt = `curtain ${location.pathname}`;
const curtained = () => document.body.classList.contains("curtain");
function curtain(closed) {
  document.body.classList.toggle("curtain", closed);
  kept[curtainAt] = closed ? "closed" : "";
  for (const button of all("[data-all]")) button.hidden = !closed;
}
// The rounds of each game of the page. Of a game that has ended, its last round stays.
const games = (document.querySelector("[data-game]") ? all("[data-game]") : [document.body]).map((root) => all("[data-round]:not(form)", root));
const marks = all("mark[data-of]"), tabs = all(".tab"), sides = all(".sides > section");
const inSight = (one) => one.offsetParent !== null;

// On a phone one of two games is shown, by its tab.
function turn(side) {
  for (const tab of tabs) tab.setAttribute("aria-current", tab.hash === `#${side.id}`);
  for (const one of sides) one.classList.toggle("on", one === side);
}

function step(place, move = true, target = null, block = "nearest") {
  now = Math.max(0, Math.min(numbers.length - 1, place));
  const number = numbers[now];
  const leapsAt = (most) => games.filter((leaps) => leaps.length).map((leaps) => leaps.findLast((one) => Number(one.dataset.round) <= most) ?? leaps[0]);
  const shown = leapsAt(number);
  seen = Math.max(seen, now);
  if (curtained() && seen === numbers.length - 1) curtain(false);
  const edges = leapsAt(numbers[seen]);
  for (const one of rounds) {
    one.classList.toggle("now", shown.includes(one));
    one.classList.toggle("edge", edges.includes(one));
  }
  for (const link of all("[data-step]")) {
    if (shown.some((one) => one.id === link.hash.slice(1))) {
      link.setAttribute("aria-current", "step");
      const strip = link.closest("ol");
      strip.scrollLeft = link.offsetLeft - strip.offsetLeft - (strip.clientWidth - link.offsetWidth) / 2;
      strip.scrollTop = link.offsetTop - strip.offsetTop - strip.clientHeight / 2;
    } else link.removeAttribute("aria-current");
    link.classList.toggle("edge", edges.some((one) => one.id === link.hash.slice(1)));
  }
  for (const mark of marks) {
    const leap = shown.find((one) => one.closest("[data-game]").id === mark.dataset.of);
    if (!leap) continue;
    mark.textContent = leap.querySelector("[data-guess]").dataset.guess || "____";
    mark.className = leap.dataset.verdict;
  }
  for (const at of all("[data-at]")) if (move) at.textContent = `Round ${number} of ${numbers.at(-1)}`;
  fresh &&= !move;
  for (const button of all("[data-by]")) button.disabled = !(beside(Number(button.dataset.by)) in numbers);
  if (!move) return;
  const side = (target ?? document.activeElement).closest("[data-game]");
  if (target && side && sides.length) turn(side);
  // The game that goes on comes in sight where the one that is shown has ended.
  const going = shown.filter((one) => Number(one.dataset.round) === number);
  if (!target && sides.length && !going.some(inSight)) turn(going[0].closest("[data-game]"));
  const here = shown.filter((one) => inSight(one) && one.matches(".leap"));
  const current = target ?? here.find((one) => Number(one.dataset.round) === number && one.closest("[data-game]") === side) ?? here.find((one) => Number(one.dataset.round) === number) ?? here[0];
  if (!current) return;
  // On a phone the sentence stays above the rounds, and must not cover the one that is scrolled to.
  if (live && getComputedStyle(live).position === "sticky") current.style.scrollMarginTop = `${live.offsetHeight + 8}px`;
  current.focus({preventScroll: true});
  current.scrollIntoView({block});
  history.replaceState(null, "", `#${current.id}`);
}

// Details that open below the window are scrolled to; two games open the same round.
function opened(round, open) {
  for (const one of rounds) if (one.dataset.round === round.dataset.round && one.querySelector(".fold")) one.querySelector(".fold").open = open;
  requestAnimationFrame(() => round.scrollIntoView({block: "nearest"}));
}

const beside = (by) => fresh && by > 0 ? 0 : now + by;

function along(by) {
  const rows = shownRows();
  if (!rows.length) return false;
  const at = rows.indexOf(document.activeElement.closest("tr")?.querySelector("a[data-row]") ?? document.activeElement);
  const to = rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + by))];
  to.focus();
  to.scrollIntoView({block: "nearest"});
  return true;
}

// The reasons behind a badge lie over what is below.
const closeNotes = (target) => all("details.why[open]").forEach((one) => one.contains(target) || (one.open = false));
document.addEventListener("click", (event) => closeNotes(event.target));
// Who opens the details of a round is in it.
document.addEventListener("click", (event) => {
  const round = event.target.closest(".leap > .fold > summary")?.closest(".leap[data-round]");
  if (!round) return;
  event.preventDefault();
  step(numbers.indexOf(Number(round.dataset.round)), true, round);
  opened(round, !round.querySelector(".fold").open);
});

function stopPlayback() {
  clearInterval(watching);
  watching = 0;
  if (playback) [playback.textContent, playback.ariaLabel] = ["▶", "Watch"];
}
playback?.addEventListener("click", () => {
  if (watching) return stopPlayback();
  // It goes on from the round that one is at, and begins anew at the end.
  const from = now === numbers.length - 1 ? 0 : now;
  if (!curtained()) seen = from;
  curtain(true);
  step(from);
  [playback.textContent, playback.ariaLabel] = ["❚❚", "Pause"];
  watching = setInterval(() => {
    step(now + 1);
    if (now === numbers.length - 1) stopPlayback();
  }, pace);
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (search && event.target === search && !event.isComposing) {
    const left = shownRows().find((row) => row.closest(".left"));
    if (event.key === "ArrowDown") along(0);
    else if (event.key === "Enter") (left ?? shownRows()[0])?.click();
    else if (event.key === "Escape") {
      clearFields([search]);
      search.blur();
    }
    else return;
    event.preventDefault();
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const moves = {ArrowRight: beside(1), ArrowLeft: beside(-1), Home: 0, End: numbers.length - 1};
  if (numbers.length && event.key in moves) {
    stopPlayback();
    if (event.key === "End") curtain(false);
    step(moves[event.key]);
    event.preventDefault();
  } else if (!numbers.length && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    if (along(event.key === "ArrowDown" ? 1 : -1)) event.preventDefault();
  } else if (event.key === "Escape" || (watching && event.key === " ")) {
    stopPlayback();
    closeNotes();
    // The list of keys closes by itself.
    if (!document.querySelector("[popover]:popover-open")) event.preventDefault();
  } else if (event.key === "?") {
    document.getElementById("keys")?.togglePopover();
  } else if (event.target.matches("[data-row], [data-tick]") && event.key === (event.target.matches("[data-row]") ? " " : "Enter")) {
    // Space ticks the row that one is at, and Enter the box.
    event.target.closest("tr").querySelector("[data-tick]")?.click();
    event.preventDefault();
  } else if (event.key === " " && playback && !event.target.closest("a, button, summary")) {
    playback.click();
    event.preventDefault();
  } else if (event.key === "Enter" && event.target.matches(".leap:has(> .fold)")) {
    opened(event.target, !event.target.querySelector(".fold").open);
  } else if (event.key === "c" && pair && !pair.querySelector("a[data-key]")) {
    // Which two of three are compared is for the reader to say.
    pair.hidden = false;
    pair.querySelector("a[href]")?.focus();
  } else if (event.key === "/" && search) {
    search.focus();
    event.preventDefault();
  } else if (/^[a-z]$/.test(event.key)) {
    // From a call one goes back to its round.
    (event.key === "u" && document.querySelector(".letter.now a.back") || (document.activeElement.closest(".leap") ?? document.querySelector(".leap.now"))?.querySelector(`[data-key="${event.key}"]`) || document.querySelector(`[data-key="${event.key}"]:not([data-round] *)`))?.click();
  }
});
for (const button of all("[data-by], [data-watch]")) button.hidden = false;
// A judge may say the same again and again: then the round is named in which it was said first.
const reasons = new Map();
for (const line of all(".leap > .reason")) {
  const round = line.parentElement, said = `${round.parentElement.id} ${line.textContent.replace(round.querySelector(".guess").textContent, "").trim()}`;
  if (!reasons.has(said)) reasons.set(said, round.dataset.round);
  else {
    [line.title, line.textContent] = [line.textContent, `Same reason as round ${reasons.get(said)}`];
    line.classList.add("same");
  }
}
// Two games stand beside each other round by round, and the end of the shorter fills its column.
const tallest = Math.max(...sides.map((side) => side.children.length));
for (const side of sides) {
  side.style.gridRow = `1 / span ${tallest}`;
  side.lastElementChild.style.gridRow = `${side.children.length} / -1`;
}
for (const tab of tabs) {
  tab.addEventListener("click", (event) => {
    event.preventDefault();
    const side = document.getElementById(tab.hash.slice(1));
    turn(side);
    const leap = all(".leap.now", side)[0];
    if (!fresh && leap) step(now, true, now < 0 ? null : leap);
    else if (side.getBoundingClientRect().top < 0) side.scrollIntoView();
  });
}
if (sides.length) turn(sides[0]);
for (const button of all("[data-link]")) {
  button.addEventListener("click", async () => {
    const round = button.closest("[data-round]");
    step(numbers.indexOf(Number(round.dataset.round)), true, round);
    const said = document.getElementById("toast");
    try {
      await navigator.clipboard.writeText(`${location.href.split(/[?#]/)[0]}#${round.id}`);
      said.textContent = `The link to round ${round.dataset.round} is copied.`;
    } catch {
      said.textContent = "This browser copies no link; it is in the address bar.";
    }
    setTimeout(() => said.textContent = "", 2500);
  });
}
for (const button of all("[data-by]")) {
  button.addEventListener("click", () => {
    stopPlayback();
    step(beside(Number(button.dataset.by)));
  });
}
for (const button of all("[data-all]")) {
  button.addEventListener("click", () => {
    stopPlayback();
    curtain(false);
    step(now);
  });
}
for (const link of all("[data-step]")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    stopPlayback();
    step(numbers.indexOf(Number(link.dataset.step)), true, document.getElementById(link.hash.slice(1)), link.closest(".jump") ? "start" : "nearest");
  });
}
const named = () => document.getElementById(location.hash.slice(1));
const inHash = () => numbers.indexOf(Number(named()?.dataset.round ?? NaN));
if (numbers.length && document.querySelector(".leap")) {
  const asked = inHash();
  // A game opens on its last round, which the sentence beside it has; other pages begin at the first key.
  if (asked >= 0) {
    if (kept[curtainAt]) curtain(true);
    step(asked, true, named());
  }
  else if (marks.length) {
    fresh = numbers.length > 1;
    step(numbers.length - 1, false);
  }
}

addEventListener("hashchange", () => {
  if (inHash() >= 0) step(inHash(), true, named());
});

// On a phone the picture scrolls away above the sentence; it then stays beside it, small. What is below must not move.
const view = document.querySelector(".scene > .view");
if (view && live) {
  new IntersectionObserver((entries) => {
    const entry = entries.at(-1);
    const apart = !entry.isIntersecting && entry.boundingClientRect.top < 0;
    if (apart === document.body.classList.contains("apart")) return;
    const before = live.offsetHeight;
    if (apart) view.style.height = `${view.offsetHeight}px`;
    document.body.classList.toggle("apart", apart);
    view.style.marginBottom = apart ? `${before - live.offsetHeight}px` : "";
    if (!apart) view.style.height = "";
  }, {rootMargin: "64px 0px 0px 0px"}).observe(view);
}

// A long text is folded to two lines, but not the one that was asked for.
function clip() {
  const texts = all("[data-clip]").filter((text) => text.offsetParent && !text.dataset.clip && text.closest(".letter")?.id !== location.hash.slice(1));
  for (const text of texts) text.classList.add("clipped");
  const long = texts.map((text) => text.scrollHeight > text.clientHeight + 2);
  texts.forEach((text, at) => {
    text.dataset.clip = "done";
    text.classList.toggle("clipped", long[at]);
    text.nextElementSibling.hidden = !long[at];
  });
}
for (const button of all(".unfold")) {
  button.addEventListener("click", () => {
    button.textContent = button.previousElementSibling.classList.toggle("clipped") ? "more" : "less";
  });
}
document.addEventListener("toggle", clip, true);
clip();

// What a reader opened in a game stays open when the page is seen again, and a list marks the row that one comes from.
const folds = all("main.game details"), foldsAt = `open ${location.pathname}`;
const wereOpen = kept[foldsAt] ?? "";
if (wereOpen.length === folds.length) folds.forEach((fold, at) => fold.open = wereOpen[at] === "1");
for (const fold of folds) fold.addEventListener("toggle", () => kept[foldsAt] = folds.map((one) => Number(one.open)).join(""));
const cameFrom = all("a[data-row]").find((row) => row.pathname === kept.last);
kept.last = location.pathname;

// How rounds are shown: compact as on the last page, and with all details.
for (const views of all(".views")) views.hidden = false;
const compact = document.querySelector("[data-compact]"), every = document.querySelector("[data-open]");
const press = (button, on) => button.ariaPressed = on;
if (compact) {
  const set = (on) => press(compact, document.body.classList.toggle("compact", on));
  set(kept.compact === "1");
  compact.addEventListener("click", () => kept.compact = Number(set(compact.ariaPressed !== "true") === true));
  every.addEventListener("click", () => {
    const on = press(every, every.ariaPressed !== "true");
    for (const fold of all(".leap > .fold")) fold.open = on;
  });
}

// A row opens as a whole; of a sample's repeats the one that was clicked.
document.addEventListener("click", (event) => {
  const row = event.target.closest("tr:has(a[data-row])");
  if (!row || event.target.closest("a, input, button, label, details") || String(getSelection())) return;
  // Who misses the box does not want to leave.
  if (event.target.closest("td.tick")) return event.target.querySelector("input")?.click();
  const line = event.target.closest("td > div"), links = all("a[data-row]", row);
  (links[line ? [...line.parentElement.children].indexOf(line) : 0] ?? links[0]).dispatchEvent(new MouseEvent("click", event));
});

// What is shown of a page's tables, and in which order, stands in its address.
let asked = new URLSearchParams(location.hash.slice(1));
const inAddress = (pairs) => history.replaceState(null, "", location.pathname + (pairs.some(([, value]) => value) ? "#" + new URLSearchParams(pairs.filter(([, value]) => value)) : ""));
const restore = (field, name) => {
  field.value = asked.get(name) ?? "";
  if (field.selectedIndex < 0) field.value = "";
};
const noMatch = document.getElementById("nomatch");
function clearFields(fields) {
  for (const one of fields) one.value = "";
  fields[0]?.dispatchEvent(new Event("input"));
}
noMatch?.querySelector("button").addEventListener("click", () => clearFields([search, ...all("[data-show], [data-filter]")]));
const words = (field) => (field?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);

// The tables of the runs.
const choices = all("[data-show]"), ticks = all("[data-tick]"), pair = document.getElementById("pair");
let sorted = asked.get("sort") ?? "";
const board = (one) => one.closest("section").dataset.board ?? "";
function show() {
  const [chosen, trust] = ["board", "trust"].map((name) => choices.find((one) => one.dataset.show === name)?.value ?? "");
  let count = 0, total = 0;
  for (const section of all("section[data-board]")) {
    let left = 0;
    for (const row of all("tr[data-entry]", section)) {
      row.hidden = !words(search).every((word) => row.dataset.words.includes(word)) || (trust && row.dataset.trust !== trust)
        || (chosen && section.dataset.board !== chosen);
      left += !row.hidden;
      total += 1;
    }
    section.hidden = !left;
    count += left;
  }
  noMatch.hidden = count > 0 || !total;
  document.getElementById("shown").textContent = `${count === total ? total : `${count} of ${total}`} run${total === 1 ? "" : "s"}`;
  for (const one of all("details.scroll")) one.open ||= words(search).length > 0;
  const chosenRuns = ticks.filter((one) => one.checked), names = chosenRuns.map((one) => one.dataset.tick);
  for (const one of ticks) one.disabled = !one.checked && names.length > 0 && (names.length > 2 || board(one) !== board(chosenRuns[0]));
  if (pair) {
    const [text, ...links] = pair.children, pairs = [[0, 1], [0, 2], [1, 2]].filter(([, other]) => other < names.length);
    pair.hidden = !names.length;
    text.textContent = ["No run is ticked. Tick two runs of one benchmark to compare them.", "1 run chosen. Tick a second run of the same benchmark.", "2 runs chosen.", "3 runs chosen; a page compares two:"][names.length];
    if (names.length === 2) links[0].dataset.key = "c";
    else delete links[0].dataset.key;
    links.forEach((link, at) => {
      link.hidden = !pairs[at];
      if (!pairs[at]) return link.removeAttribute("href");
      link.href = `compare/${pairs[at].map((one) => names[one]).join("/")}.html`;
      link.textContent = names.length < 3 ? "Compare the two" : pairs[at].map((one) => chosenRuns[one].closest("tr").querySelector("a[data-row]").textContent).join(" and ");
    });
  }
  inAddress([["search", search.value], ["board", chosen], ["trust", trust], ["sort", sorted], ["runs", names.join("/")]]);
}
function order(button, down) {
  const head = button.closest("th"), table = button.closest("table"), name = button.dataset.sort;
  for (const one of all("th[aria-sort]", table)) one.removeAttribute("aria-sort");
  head.ariaSort = down ? "descending" : "ascending";
  sorted = `${board(button)}/${name}/${down ? "down" : "up"}`;
  const value = (row) => ["model", "date", "sample"].includes(name) ? row.dataset[name] : name === "tier" ? ["easy", "medium", "hard"].indexOf(row.dataset.tier) : parseFloat(row.dataset[name]);
  for (const body of table.tBodies) {
    const rows = all("tr[data-entry], tr[data-line]", body).sort((one, other) => {
      const [a, b] = [value(one), value(other)];
      if (a !== a || b !== b) return (a !== a) - (b !== b);
      return (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1);
    });
    body.append(...rows);
  }
}
function sortAsAsked() {
  const [on, name, way] = sorted.split("/");
  const button = all("[data-sort]").find((one) => on === board(one) && name === one.dataset.sort);
  if (button) order(button, way === "down");
}
sortAsAsked();
for (const button of all("[data-sort]")) {
  button.addEventListener("click", () => {
    const before = button.closest("th").ariaSort;
    order(button, before ? before !== "descending" : !["model", "place", "sample", "rounds", "tier"].includes(button.dataset.sort));
    (document.getElementById("count") ? filter : show)();
  });
}
function showAsAsked() {
  restore(search, "search");
  for (const one of choices) restore(one, one.dataset.show);
  for (const one of ticks) one.checked = (asked.get("runs") ?? "").split("/").includes(one.dataset.tick);
  show();
}
if (document.getElementById("shown")) {
  for (const one of [search, ...choices, ...ticks]) one.addEventListener("input", show);
  showAsAsked();
}

// Filters of the episodes of a run, or of two.
const filters = all("[data-filter]"), lines = all("tr[data-line]");
function filter() {
  for (const row of lines) {
    const text = row.textContent.toLowerCase();
    row.hidden = filters.some((one) => one.value && !row.dataset[one.dataset.filter].split(" ").includes(one.value)) || !words(search).every((word) => text.includes(word));
  }
  const count = lines.filter((row) => !row.hidden).length;
  noMatch.hidden = count > 0 || !lines.length;
  document.getElementById("count").textContent = `${count} of ${lines.length} shown`;
  for (const bar of all("[data-bar]")) bar.ariaPressed = filters.some((one) => bar.dataset.bar === `${one.dataset.filter} ${one.value}`);
  inAddress([["search", search.value], ...filters.map((one) => [one.dataset.filter, one.value]), ["sort", sorted]]);
}
// A bar of the histogram leaves its games, and once more all.
for (const bar of all("[data-bar]")) {
  const choose = () => {
    const [field, value] = bar.dataset.bar.split(" "), select = filters.find((one) => one.dataset.filter === field);
    const before = select.value;
    for (const one of filters) if (["solved", "outcome"].includes(one.dataset.filter)) one.value = "";
    select.value = before === value ? "" : value;
    filter();
    select.scrollIntoView({block: "nearest"});
  };
  bar.addEventListener("click", choose);
  bar.addEventListener("keydown", (event) => {
    if (![" ", "Enter"].includes(event.key)) return;
    choose();
    event.preventDefault();
    event.stopPropagation();
  });
}
function filterAsAsked() {
  restore(search, "search");
  for (const one of filters) restore(one, one.dataset.filter);
  filter();
}
if (document.getElementById("count")) {
  for (const one of [search, ...filters]) one.addEventListener("input", filter);
  filterAsAsked();
}
// Another address of the same page, as from a bookmark.
addEventListener("hashchange", () => {
  const again = document.getElementById("count") ? filterAsAsked : document.getElementById("shown") ? showAsAsked : null;
  if (!again || document.getElementById(location.hash.slice(1))) return;
  asked = new URLSearchParams(location.hash.slice(1));
  sorted = asked.get("sort") ?? sorted;
  sortAsAsked();
  again();
});

// From a list that is searched, filtered or sorted, the next page is that of its next row: the rows stand in the query.
const pageName = (address) => address.split(/[?#]/)[0].split("/").pop().replace(/\.html$/, "");
// What its rows ask, by the folder of their pages: the address would be too long with it.
const asksAt = (place) => `asks ${place.pathname.replace(/[^/]*$/, "")}`;
function carry(event) {
  const link = event.target.closest?.("a[data-row]"), state = new URLSearchParams(location.hash.slice(1));
  if (!link || !document.getElementById("count")) return;
  if (!state.size) return void (link.search = "");
  const rows = shownRows(), names = rows.map((row) => pageName(row.getAttribute("href"))), at = names.indexOf(pageName(link.getAttribute("href")));
  // A server takes an address of some 8,000 characters; of a longer list the nearest rows are named.
  const side = Math.floor(2500 / (Math.max(...names.map((name) => name.length)) + 1));
  const near = [Math.max(0, at - side), at + side + 1];
  state.set("in", names.slice(...near).join("*"));
  const asks = rows.slice(...near).map((row) => row.closest("tr").querySelector(".asked")?.textContent ?? "");
  try { kept[asksAt(link)] = JSON.stringify(Object.fromEntries(names.slice(...near).map((name, at) => [name, asks[at]]))); } catch { /* It is full: then samples have their names. */ }
  state.set("of", names.length);
  link.search = state;
}
for (const kind of ["pointerdown", "click"]) document.addEventListener(kind, carry, true);
const listState = new URLSearchParams(location.search), listed = (listState.get("in") ?? "").split("*"), here = listed.indexOf(pageName(location.pathname));
if (here >= 0) {
  const asks = JSON.parse(kept[asksAt(location)] ?? "{}");
  // A list that was searched or sorted has an order of its own.
  for (const one of all("[data-order]")) one.hidden = true;
  for (const [kind, by, word] of [["prev", -1, "Previous"], ["next", 1, "Next"]]) {
    const link = document.querySelector(`.neighbours a[rel=${kind}]`), name = listed[here + by];
    if (!link) continue;
    link.parentElement.hidden = !name;
    if (!name) link.removeAttribute("href");
    else {
      if (pageName(link.getAttribute("href") ?? "") !== name) link.querySelector(".what").textContent = `${word}: ${asks[name] || decodeURIComponent(name).replace(/-1$/, "")}`;
      link.href = `${name}.html${location.search}`;
    }
  }
  const total = Number(listState.get("of")), count = document.querySelector(".neighbours .quiet");
  if (count) count.textContent = total === listed.length ? `${here + 1} of ${total} shown` : `one of ${total} shown`;
  for (const name of ["in", "of"]) listState.delete(name);
  for (const link of all('a[data-key="u"], .sent a, a.back')) {
    if (/^[./]*(said|game)\//.test(link.getAttribute("href"))) link.search = location.search;
    else link.hash = listState;
  }
}

// A game that was opened from a pair leads back to the pair.
for (const link of all("a[data-pair]")) link.search = new URLSearchParams({pair: link.dataset.pair, list: location.search});
const fromPair = listState.get("pair"), upward = document.querySelector('a[data-key="u"]');
if (fromPair && upward) {
  for (const link of all('a[data-key="u"], .sent a, a.back')) if (/^[./]*(said|game)\//.test(link.getAttribute("href"))) link.search = location.search;
  if (document.querySelector("main.game")) {
    const runs = fromPair.split("/").map(encodeURIComponent).join("/");
    upward.href = `../../compare/${runs}/${pageName(location.pathname)}.html`;
    upward.search = listState.get("list");
    upward.textContent = "Side by side";
  }
}

// The row that one comes from, once the list is filtered and sorted.
if (cameFrom?.offsetParent) {
  cameFrom.closest("tr").classList.add("left");
  cameFrom.focus({preventScroll: true});
  cameFrom.scrollIntoView({block: "center"});
}

// What a person sends: the fields of a form as JSON, to this site only.
let keys = {};
try { keys = localStorage; } catch { /* A browser that keeps nothing. */ }
for (const form of all("form[data-post]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const sent = {};
    for (const [name, value] of new FormData(form, event.submitter)) {
      if (form.elements[name]?.type === "checkbox" || form.dataset.many === name) (sent[name] ??= []).push(value);
      else sent[name] = value;
    }
    // The key of a person's page shows that this browser gave the name first.
    const joins = form.dataset.post === "join", name = joins && `${new URL("join", location)} ${sent.name.trim().replace(/\s+/g, " ").toLowerCase()}`;
    if (joins) sent.key = keys[name] ?? "";
    const status = form.querySelector("[role=status]"), buttons = all("button", form);
    for (const button of buttons) button.disabled = true;
    status.textContent = "Sending …";
    try {
      const got = await fetch(form.dataset.post, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(sent)});
      const told = await got.json();
      if (!got.ok) throw new Error(told.error);
      if (joins) keys[name] = told.go.split("/")[1];
      if (told.go) location.assign(told.go);
      else status.textContent = told.said ?? "Kept.";
    } catch (error) {
      status.textContent = `Not kept: ${error.message || "the server cannot be reached"}`;
    }
    for (const button of buttons) button.disabled = false;
  });
}

document.querySelector("[data-focus]")?.focus();
