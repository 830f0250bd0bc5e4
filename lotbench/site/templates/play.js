// The game: what a person sends, and what has changed since, without loading the page anew.
const table = () => document.querySelector("[data-table]");
let busy = false;
// What a person types on while their last text is under way; the next field begins with it.
let typed = "";
document.addEventListener("keydown", ({target, key, ctrlKey, metaKey, altKey}) => {
  if (target !== document.body || ctrlKey || metaKey || altKey || !table()?.dataset.waiting) return;
  if (key === "Backspace") typed = typed.slice(0, -1);
  else if (key.length === 1) typed += key;
});
// Another page of the game begins at its top.
history.scrollRestoration = "manual";
// A question in the place of a guess; the field of the next question begins with it.
let later = "";
// Enter on the heading of a result goes on, once a person who typed ahead has stopped.
let calm = 1500;
document.addEventListener("keydown", ({target, key, repeat, timeStamp}) => {
  if (!target.matches("h1[data-focus]") || repeat) return;
  if (key === "Enter" && timeStamp > calm) document.querySelector("form[data-send] .main")?.click();
  calm = Math.max(calm, timeStamp + 1500);
});

// A key that is held down sends nothing more.
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.repeat && event.target.matches("input[type=text]")) event.preventDefault();
});
// The question that a first Enter left empty; a second one leaves it out.
let empty = null;

// The conversation grows: what was said stays, so that a screen reader is told only what is new.
function grow(old, fresh) {
  const [was, now] = [[...old.children], [...fresh.children]];
  now.forEach((one, at) => {
    if (!was[at]) old.append(document.adoptNode(one));
    else if (was[at].outerHTML !== one.outerHTML) was[at].replaceWith(document.adoptNode(one));
  });
  was.slice(now.length).forEach((one) => one.remove());
}

async function renew() {
  const got = await fetch("index.html");
  const fresh = new DOMParser().parseFromString(await got.text(), "text/html");
  const parts = (root) => new Map(all("[data-part]", root).map((one) => [one.dataset.part, one]));
  const [here, there, next] = [parts(document), parts(fresh), fresh.querySelector("[data-table]")];
  if (!got.ok || !next || !table() || [...here.keys()].join() !== [...there.keys()].join()) return location.reload();
  if (document.activeElement.matches("input[type=text]")) typed = document.activeElement.value;
  for (const [name, old] of here) {
    if (name === "said") grow(old, there.get(name));
    else if (old.outerHTML !== there.get(name).outerHTML) old.replaceWith(document.adoptNode(there.get(name)));
  }
  const main = table();
  main.dataset.version = next.dataset.version;
  if (next.dataset.waiting) main.dataset.waiting = next.dataset.waiting;
  else delete main.dataset.waiting;
  settle();
}

function settle() {
  const log = document.querySelector(".log");
  if (log?.querySelector(".mine")) {
    log.scrollTop = log.scrollHeight;
    // The question whether a guess counts stands beside the answer, at the top.
    if (document.querySelector(".verdict:not([hidden])")) scrollTo(0, 0);
    // On a phone the page scrolls, not the conversation.
    else if (!document.querySelector("main.over") && log.scrollHeight <= log.clientHeight + 1) scrollTo(0, document.documentElement.scrollHeight);
  }
  const field = document.querySelector("[data-focus]");
  field?.focus({preventScroll: true});
  if (typed && field?.matches("input[type=text]")) [field.value, typed] = [typed, ""];
  else {
    if (field?.id === "question") [field.value, later] = [field.value || later, ""];
    // What stands there is replaced by what is typed.
    field?.select?.();
  }
  if (field) typed = "";
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.send) return;
  event.preventDefault();
  if (busy) return;
  const status = form.querySelector("[role=status]"), box = form.querySelector("input[type=text]"), version = form.elements.version?.value;
  const none = box?.id === "question" && !box.value.trim();
  if (none && empty !== version) {
    empty = version;
    status.textContent = "Nothing is typed. Press Enter once more to guess again without a question.";
    return;
  }
  empty = null;
  if (box?.name === "guess" && box.value.length >= box.maxLength) {
    status.textContent = "That is too long, a few words are enough. Nothing is used up.";
    return;
  }
  busy = true;
  status.textContent = "";
  const sent = Object.fromEntries(new FormData(form, event.submitter));
  const back = () => { if (box && !box.value) box.value = sent[box.name] ?? ""; };
  if (box) box.value = "";
  try {
    const got = await fetch(form.dataset.send, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(sent)});
    const told = await got.json();
    if (!got.ok) throw new Error(told.error);
    if (told.why) {
      status.textContent = told.why;
      if (box?.name === "guess" && told.why.startsWith("That is a question.")) {
        later = sent.guess;
        status.textContent = told.why.replace("you may ask it", "it stands in the question box");
      }
      back();
      document.querySelector(".composer .picks")?.classList.add("now");
      box?.select();
    }
    else if (table()) await renew();
    else location.reload();
  } catch (error) {
    back();
    status.textContent = error instanceof TypeError ? "The server cannot be reached; what you sent so far is kept." : error.message;
  }
  busy = false;
});

// Whose turn it is not waits, and sees for how long.
async function watch() {
  const main = table();
  if (main?.dataset.waiting && !busy) {
    const status = main.querySelector("[role=status]");
    try {
      const told = await (await fetch(main.dataset.waiting)).json();
      if (String(told.version) !== main.dataset.version) await renew();
      else status.textContent = "";
    } catch {
      status.textContent = "The server cannot be reached; what you sent so far is kept.";
    }
  }
  setTimeout(watch, 500);
}
watch();
setInterval(() => {
  for (const one of all("[data-since]")) {
    one.dataset.since = Number(one.dataset.since) + 1;
    one.textContent = `${one.dataset.since} s`;
  }
}, 1000);

for (const button of all("[data-copy]")) {
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy);
    if (navigator.share && button.id === "send-on") return navigator.share({text: text.value}).catch(() => {});
    const status = button.closest("details, div").querySelector("[role=status]");
    text.select();
    try {
      await navigator.clipboard.writeText(text.value);
      status.textContent = "Copied.";
    } catch {
      status.textContent = "Marked: copy it with your keyboard.";
    }
  });
}
// The result as a picture, with the scene if there is one and without a word of the answer: eight rounds a line.
function card(title, words, most, dots, scene, sentence) {
  const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
  [canvas.width, canvas.height] = [1200, 630];
  pen.fillStyle = "#fbf8f1";
  pen.fillRect(0, 0, 1200, 630);
  let left = 90, step = 90, size = 28;
  if (scene?.naturalWidth) {
    const scale = 510 / Math.max(scene.naturalWidth, scene.naturalHeight), [wide, high] = [scene.naturalWidth * scale, scene.naturalHeight * scale];
    pen.drawImage(scene, 60, (630 - high) / 2, wide, high);
    [left, step, size] = [110 + wide, 62, 20];
  }
  const write = (colour, text, font, y) => { pen.fillStyle = colour; pen.font = font; pen.fillText(text, left, y, 1140 - left); };
  write("#59626e", title, "32px system-ui, sans-serif", 90);
  write("#1c2026", words, "600 50px system-ui, sans-serif", 160);
  pen.font = "34px Georgia, serif";
  const lines = [""];
  for (const word of sentence.match(/[\u3000-\u9fff]|[^\s\u3000-\u9fff]+\s*/gu) ?? []) {
    if (pen.measureText(lines[lines.length - 1] + word).width > 1100 - left) lines.push("");
    lines[lines.length - 1] += word;
  }
  lines.slice(0, 4).forEach((line, place) => write("#1c2026", line, "34px Georgia, serif", 230 + 44 * place));
  write("#1c2026", "lotbench", "600 34px Georgia, serif", 590);
  for (let place = 0; place < most; place++) {
    const [x, y, dot] = [left + size + place % 8 * step, 430 + Math.floor(place / 8) * step, dots[place]];
    pen.beginPath();
    pen.arc(x, y, size, 0, 7);
    pen.fillStyle = pen.strokeStyle = dot?.found ? "#1a7046" : "#8a929c";
    pen.lineWidth = 4;
    if (dot?.found || dot?.miss) pen.fill();
    else pen.stroke();
    if (!dot?.clue) continue;
    pen.fillStyle = "#c98a12";
    pen.font = "22px system-ui, sans-serif";
    pen.fillText("◆", x + step / 2 - 8, y + 8);
  }
  return canvas.toDataURL("image/png");
}
const shared = document.querySelector("#card[data-title]");
if (shared) addEventListener("load", () => {
  const dots = all(".lead .dots li").map(({classList}) => Object.fromEntries(["found", "miss", "clue"].map((name) => [name, classList.contains(name)])));
  shared.href = card(shared.dataset.title, document.querySelector(".lead h1").textContent, Number(shared.dataset.most), dots, document.querySelector(".stage img"), shared.dataset.sentence);
});
settle();
