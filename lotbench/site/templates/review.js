"use strict";
const {cards, choices} = JSON.parse(document.getElementById("cards").textContent);
const byId = (id) => document.getElementById(id);
const keys = {accept: "a", edit: "e", reject: "r"};
let at = Math.max(0, cards.findIndex((card) => !card.before));
let editing = false, busy = false;

function made(tag, text, name) {
  const node = document.createElement(tag);
  if (text) node.textContent = text;
  if (name) node.className = name;
  return node;
}
function say(text, name) { const said = byId("said"); said.textContent = text; said.className = name || ""; }

function fieldOf(shown, language) {
  const value = made("dd");
  if (!editing || shown.locked) { value.textContent = shown.edited ?? shown.text; value.lang = language; return value; }
  const box = document.createElement("textarea");
  const text = shown.edited ?? shown.text;
  box.value = text;
  box.lang = language;
  box.rows = Math.max(2, Math.ceil(text.length / 60) + text.split("\n").length - 1);
  box.dataset.field = shown.name;
  box.setAttribute("aria-label", shown.name);
  value.append(box);
  return value;
}
function show() {
  const card = cards[at], main = byId("card");
  main.replaceChildren();
  if (!card) { main.append(made("p", "Nothing to review.")); return; }
  main.classList.toggle("plain", !card.picture);
  if (card.picture) {
    const image = document.createElement("img");
    image.src = "picture/" + at;
    image.alt = "The picture of " + card.id;
    main.append(image);
  }
  const texts = document.createElement("section");
  const list = document.createElement("dl");
  for (const shown of card.fields) list.append(made("dt", shown.name), fieldOf(shown, card.language));
  const note = document.createElement("textarea");
  note.id = "note";
  note.rows = 1;
  note.setAttribute("aria-label", "note");
  const held = document.createElement("dd");
  held.append(note);
  list.append(made("dt", "note (why)"), held);
  texts.append(list);
  main.append(texts);
  byId("choices").replaceChildren(...choices.map((choice) => {
    const save = choice === "edit" && editing;
    const button = made("button", save ? "save edit" : choice, choice === card.before ? "chosen" : "");
    button.type = "button";
    button.id = "choose-" + choice;
    const key = made("kbd", save ? "Ctrl+Enter" : keys[choice]);
    key.setAttribute("aria-hidden", "true");
    button.setAttribute("aria-keyshortcuts", save ? "Control+Enter" : keys[choice]);
    button.append(key);
    button.addEventListener("click", () => choose(choice));
    return button;
  }));
  byId("place").textContent = card.id + " · " + (at + 1) + " of " + cards.length;
  byId("done").textContent = cards.filter((one) => one.before).length + " decided";
  if (editing) { const first = main.querySelector("textarea"); if (first) first.focus(); }
}
function go(step) {
  const next = at + step;
  if (busy || next < 0 || next >= cards.length) return;
  at = next;
  editing = false;
  say("");
  show();
}
async function choose(choice) {
  if (choice === "edit" && !editing) { editing = true; show(); say("Ctrl+Enter saves, Escape cancels"); return; }
  if (busy) return;
  const sent = {card: at, decision: choice, note: byId("note").value, changes: {}};
  if (choice === "edit") for (const box of document.querySelectorAll("textarea[data-field]")) sent.changes[box.dataset.field] = box.value;
  busy = true;
  try {
    const answer = await fetch("decision", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(sent)});
    const told = await answer.json();
    if (!answer.ok) { say(told.error, "bad"); return; }
    const card = cards[at];
    card.before = choice;
    for (const shown of card.fields) if (shown.name in sent.changes) shown.edited = sent.changes[shown.name];
    editing = false;
    if (told.notes.length) say(card.id + ": saved; " + told.notes.join("; "), "bad");
    else say(card.id + ": " + choice, "good");
    if (at + 1 < cards.length) at += 1;
    show();
  } catch (error) {
    say("not saved: the command has ended or cannot be reached", "bad");
  } finally {
    busy = false;
  }
}
byId("back").addEventListener("click", () => go(-1));
byId("next").addEventListener("click", () => go(1));
document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLTextAreaElement;
  if (event.key === "Escape") { if (typing) event.target.blur(); if (editing) { editing = false; say(""); show(); } return; }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && editing) { event.preventDefault(); choose("edit"); return; }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !cards.length) return;
  if (event.key === "ArrowLeft") return go(-1);
  if (event.key === "ArrowRight") return go(1);
  const choice = choices.find((one) => keys[one] === event.key.toLowerCase());
  if (choice) { event.preventDefault(); choose(choice); }
});
show();
