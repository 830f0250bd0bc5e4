// The game of a day, all of it in this page: it judges by the lists that site/daily.py masked.
const told = JSON.parse(document.getElementById("games").textContent), DAY = 86400000;
const at = (id) => document.getElementById(id);
const quiet = new Set("a an the to of some my your his her its our their".split(" "));
const simple = (text) => text.normalize("NFKC").toLowerCase().replace(/[-‐‑–—_]/g, " ").replace(/[^\p{L}\p{N}\p{M}_\s]/gu, "").split(/\s+/).filter(Boolean);
const rough = (text) => simple(text).filter((word) => !quiet.has(word)).map((word) => word.replace(/(?<=[\p{L}\p{N}_]{3})(?:ing|ers?|ed|es|s)$/u, "")).join(" ");
const slipped = (text) => text.length < 5 ? [] : [...text].map((_, place, every) => every.filter((_, other) => other !== place).join(""));
function unmasked(key, text) {
  return new TextDecoder().decode(Uint8Array.from(atob(text), (one, place) => one.charCodeAt(0) ^ key.charCodeAt(place % key.length)));
}
// Pages with other games may be on the same host.
const RECORD = `lotbench ${told.games.map((one) => one.id).join(" ")}`;
function remembered() {
  try { return Object(JSON.parse(localStorage.getItem(RECORD))); } catch { return {}; }
}
function remember(kept) {
  try { localStorage.setItem(RECORD, JSON.stringify(kept)); } catch { /* The browser keeps nothing: the game goes on. */ }
}
const today = () => Math.floor((Date.now() - Date.parse(told.first)) / DAY) + 1;

// Whether a guess counts; null where no list has it. A guess may have two words more than a phrase.
function verdict(game, guess) {
  const words = rough(guess).split(" "), parts = [];
  for (let size = words.length; size >= Math.max(1, words.length - 2); size--)
    for (let first = 0; first + size <= words.length; first++) parts.push(words.slice(first, first + size).join(" "));
  const [right, wrong] = [texts.right, texts.wrong].map((list) => new Set(list.map(rough)));
  if (right.has(parts[0])) return true;
  if (wrong.has(parts[0])) return false;
  // Two phrases differ by a letter if they are alike without one each.
  const slips = new Set([...right].flatMap((text) => [text, ...slipped(text)]));
  // A waiter is no slip of water.
  const isNoun = (rows.get(bare(guess)) ?? []).length > 0;
  if (!isNoun && (slips.has(parts[0]) || slipped(parts[0]).some((text) => slips.has(text)))) return true;
  // A milk bath is a bath: phrases with the last word of the guess go before the others.
  for (const some of [parts.filter((text) => parts[0].endsWith(text)), parts])
    for (const [list, counts] of [[wrong, false], [right, true]]) if (some.some((text) => list.has(text))) return counts;
  return inScene(guess) || isOtherKind(guess) ? false : null;
}
const bare = (guess) => simple(guess).join(" ").replace(/^(an?|the) /, "");
const inScene = (guess) => ` ${rough(game.scene)} `.includes(` ${rough(guess)} `);

// Common nouns by their rows, and words without a row that say nothing, as in site/nouns.py.
const rows = new Map(told.plain.map((word) => [word, []]));
told.nouns.forEach((nouns, row) => nouns.forEach((noun) => new Set([noun, `${noun}s`, `${noun}es`, noun.replace(/y$/, "ies")]).forEach((form) => rows.set(form, [...rows.get(form) ?? [], row]))));
// Whether all words of a guess are nouns for other kinds of things than the answer.
function isOtherKind(guess) {
  const same = bare(guess), [space, named] = [/\p{Script=Han}/u.test(same) ? "" : " ", []];
  for (let left = same.split(space); left.length;) {
    const size = [4, 3, 2, 1].find((most) => rows.has(left.slice(0, most).join(space))) ?? 1;
    named.push(...rows.get(left.slice(0, size).join(space)) ?? [-1]);
    left = left.slice(size);
  }
  return named.length > 0 && named.every((row) => texts.others.includes(row));
}

const clueAfter = (place) => place < told.rounds - 1 ? texts.clues[place] : undefined;
let number, game, texts, tries, shown, ended;
const gameName = () => number === today() ? "The game of the day" : "An earlier game";
function begin(which) {
  number = which;
  const place = (number - 1) % told.games.length;
  [game, tries, shown, ended] = [told.games[place], [], false, null];
  texts = JSON.parse(unmasked(game.id, game.told));
  texts.key = texts.right[0];
  at("picture").src = game.picture;
  at("picture").alt = game.scene;
  at("before").textContent = game.joke[0];
  at("after").textContent = game.joke[1];
  at("title").textContent = `#${number}`;
  at("heading").textContent = at("named").textContent = gameName();
  all("#said > li:not(.rules)").forEach((one) => one.remove());
  at("told").textContent = "";
  const kept = remembered();
  const before = kept.games?.[number]?.tries;
  for (const one of Array.isArray(before) ? before : []) {
    took(one.guess, one.counts, one.own, false);
    tries[tries.length - 1].looked = one.looked;
    if (one.asked !== undefined) asks(one.asked, false);
  }
  if (kept.games?.[number]?.over && ended === null) over("given up", false);
  draw();
}
function say(kind, text, stamp) {
  const line = document.createElement("li"), bubble = document.createElement("p");
  line.className = kind;
  if (kind !== "clue") bubble.className = "bubble";
  else line.append(Object.assign(document.createElement("p"), {className: "kind", textContent: "A clue"}));
  bubble.textContent = text;
  line.append(bubble);
  if (stamp !== undefined) {
    const mark = document.createElement("p");
    mark.className = `stamp ${stamp ? "found" : "miss"}`;
    mark.textContent = stamp ? "it counts" : inScene(text) ? "not it: that is in the picture already" : "not it";
    line.append(mark);
  }
  at("said").append(line);
}
// What was said while a guess was in doubt goes.
const undoubt = () => all("#said > .host:not(.rules, .told), #said > .mine:not(.question, :has(.stamp))").forEach((one) => one.remove());
function took(guess, counts, own, fresh = true) {
  tries.push({guess, counts, own});
  undoubt();
  say("mine", guess, counts);
  if (counts) return over("solved", fresh);
  if (tries.length >= told.rounds) return over("not solved", fresh);
  const clue = clueAfter(tries.length - 1);
  if (clue) say("clue", clue);
  if (fresh) keep(false);
}
const HEARD = {Yes: "Yes.", No: "No."};
function asks(which, fresh = true) {
  if (!texts.answers[which]) return;
  tries[tries.length - 1].asked = which;
  say("mine question", texts.answers[which][0]);
  say("host told", HEARD[texts.answers[which][1]]);
  if (fresh) { keep(false); draw(); }
}
function keep(done) {
  const kept = remembered();
  kept.games ??= {};
  kept.games[number] = {tries, over: done};
  if (done && number === today() && kept.last !== number) {
    kept.streak = ended === "solved" ? (kept.last === number - 1 ? kept.streak ?? 0 : 0) + 1 : 0;
    kept.last = number;
    kept.best = Math.max(kept.best ?? 0, kept.streak);
  }
  remember(kept);
}
function over(how, fresh) {
  ended = how;
  if (fresh) keep(true);
  draw();
  if (fresh) at("words").focus({preventScroll: true});
  if (fresh) scrollTo(0, 0);
}
function marked(place, words) {
  const mark = Object.assign(document.createElement("mark"), {textContent: words}), start = texts.response.indexOf(texts.key);
  at(place).replaceChildren(texts.response.slice(0, start), mark, texts.response.slice(start + texts.key.length));
}
// “the ____” needs no second article, and “his ____” no second “his”.
function inBlank(guess) {
  const [, word] = /([\p{L}\p{N}_]+)\s+$/u.exec(game.joke[0]) ?? [], [first, ...rest] = guess.split(/\s+/), articles = /^(an?|the)$/i;
  return rest.length && word && (first.toLowerCase() === word.toLowerCase() || articles.test(first) && articles.test(word)) ? rest.join(" ") : guess;
}
// How all games ended: a bar for each number of guesses, and one for those not solved.
function past(kept) {
  const games = Object.values(kept.games ?? {}).filter((one) => one.over), counts = Array(told.rounds + 1).fill(0);
  for (const {tries} of games) counts[tries[tries.length - 1]?.counts ? tries.length - 1 : told.rounds] += 1;
  at("best").textContent = `${games.length} played, best streak ${kept.best ?? kept.streak ?? 0}`;
  at("bars").replaceChildren(...counts.map((count, place) => {
    const row = document.createElement("li"), bar = Object.assign(document.createElement("meter"), {max: Math.max(...counts, 1), value: count});
    bar.ariaLabel = place < told.rounds ? `solved with guess ${place + 1}` : "not solved";
    row.append(place < told.rounds ? place + 1 : "missed", bar, count);
    return row;
  }));
}
const outcome = () => {
  const last = tries[tries.length - 1];
  if (ended === "solved") return `Solved with guess ${tries.length} of ${told.rounds}${last.own ? ", by your own word" : ""}`;
  if (last?.looked) return "Not solved: you looked at the answer";
  if (!tries.length) return "Given up at once";
  return ended === "given up" ? `Given up after ${tries.length} of ${told.rounds} guesses` : `Not solved in ${told.rounds} guesses`;
};
function draw(doubt = "") {
  at("problem").textContent = "";
  const over = ended !== null, kept = remembered(), running = kept.last >= today() - 1 ? kept.streak ?? 0 : 0;
  at("game").classList.toggle("over", over);
  at("guessing").hidden = over || doubt === "own";
  at("share").hidden = at("over").hidden = !over;
  at("heading").hidden = over;
  at("intro").hidden = over || tries.length > 0;
  const asked = tries.map((one) => one.asked), sure = [...texts.clues.filter((_, place) => place <= tries.length && clueAfter(place)), ...texts.answers.filter(([, said], which) => said === "Yes" && asked.includes(which)).map(([text]) => text)];
  const known = new Set(sure.flatMap((text) => texts.answered[text]));
  const left = texts.answers.map((_, which) => which).filter((which) => !asked.includes(which) && !known.has(texts.answers[which][0]));
  // Each miss offers the next three.
  const first = left.length ? (tries.length - 1) * 3 % left.length : 0, open = [...left.slice(first), ...left.slice(0, first)].slice(0, 3);
  at("picks").hidden = over || Boolean(doubt) || !tries.length || tries[tries.length - 1].asked !== undefined || !open.length;
  all("#picks button").forEach((one) => one.remove());
  for (const which of open) {
    const pick = document.createElement("button");
    [pick.type, pick.textContent] = ["button", texts.answers[which][0]];
    pick.addEventListener("click", () => asks(which));
    at("picks").append(pick);
  }
  at("answer").hidden = !over && doubt !== "own";
  at("menu").hidden = over || doubt === "own";
  at("doubt").hidden = doubt !== "unknown";
  at("own").hidden = doubt !== "own";
  at("miss").textContent = clueAfter(tries.length) ? "Call it a miss: a clue" : "Call it a miss";
  at("round").textContent = `Guess ${tries.length + 1} of ${told.rounds}`;
  at("streak").textContent = running ? `· streak ${running}` : "";
  at("rules").open = matchMedia("(min-width: 60rem)").matches && !Object.values(kept.games ?? {}).some((one) => one.over);
  at("dots").replaceChildren(...Array.from({length: told.rounds}, (_, place) => {
    const dot = document.createElement("li"), name = document.createElement("span"), one = tries[place];
    dot.className = one ? (one.counts ? "found" : "miss") : place === tries.length && !over ? "now" : "ahead";
    if (clueAfter(place)) dot.classList.add("clue");
    name.className = "sr";
    name.textContent = `Guess ${place + 1}: ${one ? (one.counts ? "it counted" : "not it") : "to come"}`;
    dot.append(name);
    return dot;
  }));
  marked("response", texts.key);
  at("why").textContent = over || doubt === "own" ? texts.why : "";
  if (!over && doubt !== "own") at("response").replaceChildren();
  const last = tries[tries.length - 1], said = doubt === "own" ? shown : ended === "solved" ? last.guess : texts.key, mine = rough(said) !== rough(texts.key);
  at("yours").hidden = !mine;
  at("mine").hidden = at("original").hidden = !mine;
  if (mine) marked("yours", inBlank(said));
  if (doubt === "own") at("same").focus({preventScroll: true});
  if (over) {
    at("words").textContent = outcome();
    at("words").className = ended === "solved" ? "found" : "miss";
    const signs = tries.map((one, place) => one.counts ? (one.own ? "🟡" : "🟢") : "⚪" + (clueAfter(place) ? "💡" : "")).join("") + (ended === "given up" ? "🏳️" : "");
    const address = location.protocol.startsWith("http") ? `\n${location.href.split("#")[0]}` : "", own = ended === "solved" && last.own ? ", by my own word" : "";
    at("shared").value = `lotbench #${number}  ${ended === "solved" ? tries.length : "X"}/${told.rounds}${own}\n${signs}\n“${game.joke.join("____")}”${address}`;
    at("next").textContent = number === today() ? `The next one comes in ${Math.ceil((DAY - Date.now() % DAY) / 3600000)} h.` : "";
    at("card").href = card(`${gameName()}, #${number}`, outcome(), told.rounds, tries.map((one, place) => ({found: one.counts, miss: !one.counts, clue: !one.counts && clueAfter(place)})), at("picture"), game.joke.join("____"));
    at("unhosted").hidden = Boolean(address);
    past(kept);
  } else if (doubt !== "own") {
    at("guess").focus({preventScroll: true});
    at("guess").select();
  }
  settle();
  // What was said is read from its beginning once the game is over.
  if (over) document.querySelector(".log").scrollTop = 0;
}
at("guessing").addEventListener("submit", (event) => {
  event.preventDefault();
  const guess = at("guess").value.trim(), offered = at("picks").hidden ? " You can ask once after a miss, from the list." : " Pick one of the questions below.";
  at("problem").textContent = "";
  // "It's an animal" and "maybe an animal" are questions, too; one of the list is asked at once.
  const hedge = /^((maybe|perhaps|probably|i think|i guess),? )+((it|they)( is| are|['’]s|['’]re) |(?=an? ))|^(it|they)( is| are|['’]s|['’]re) |^its (?=an? |the )|^(?=some(thing|one|body) )/i;
  const question = hedge.test(guess) ? `Is it ${guess.replace(hedge, "")}?` : guess, listed = texts.answers.findIndex(([text]) => rough(text) === rough(question));
  if (listed >= 0 && tries.length && tries[tries.length - 1].asked === undefined) {
    at("guess").value = "";
    undoubt();
    return asks(listed);
  }
  if (/[?？]|^(is|are|was|does|do|did|can|has) (it|he|she|they|this|that|there)\b/i.test(question)) at("problem").textContent = `That cannot be used: a question, not a guess.${offered} Nothing is used up.`;
  else if (guess.length >= at("guess").maxLength) at("problem").textContent = "That is too long, a few words are enough. Nothing is used up.";
  else if (!rough(guess)) at("problem").textContent = "Type a word or two, or give up at the top right to see the answer.";
  else if (tries.some((one) => rough(one.guess) === rough(guess))) at("problem").textContent = "You already tried that. Nothing is used up.";
  else {
    const counts = verdict(game, guess);
    undoubt();
    if (counts === null) {
      shown = guess;
      say("mine", guess);
      say("host", "I cannot tell: it is not on my lists. Guess again, it is free.");
      return draw("unknown");
    }
    at("guess").value = "";
    took(guess, counts, false);
    if (ended === null) draw();
    return;
  }
  at("guess").select();
});
for (const form of [at("doubt"), at("own")]) form.addEventListener("submit", (event) => {
  event.preventDefault();
  const said = event.submitter.value, guess = shown;
  if (said === "show") {
    say("host", "This is the answer.");
    return draw("own");
  }
  at("guess").value = "";
  if (said === "counts") return took(guess, true, true);
  if (said === "miss") {
    took(guess, false, true);
    return ended === null && draw();
  }
  if (said === "misses") {
    tries.push({guess, counts: false, own: true, looked: true});
    return over("given up", true);
  }
});
at("give-up").addEventListener("click", () => { at("menu").open = false; over("given up", true); });
if (navigator.share) at("send-on").textContent = "Share the result";
at("another").addEventListener("click", () => begin(number > 1 ? number - 1 : told.games.length));
// A page that stays open goes on to the next day's game, and never breaks off one that is played.
document.addEventListener("visibilitychange", () => { if (!document.hidden && ended !== null && number < today() && remembered().games?.[today()] === undefined) begin(today()); });
begin(today());
