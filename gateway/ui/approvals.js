// Keeps the page of approvals live. Without it the page works all the same.
"use strict";

(() => {
  const page = document.documentElement;
  const said = document.getElementById("said");
  const live = document.getElementById("live");
  const list = document.getElementById("waiting");
  const none = document.getElementById("none");
  const clock = Date.parse(page.dataset.now) - Date.now(); // the gateway's, against this machine's

  const cards = (of) => new Map(Array.from(of.querySelectorAll("[data-approval]"), (c) => [c.dataset.approval, c]));

  const say = (text, bad) => {
    said.textContent = text;
    said.classList.toggle("bad", bad);
  };

  const span = (seconds) => {
    const minutes = Math.floor(seconds / 60);
    return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
  };

  const tick = () => {
    for (const time of list.querySelectorAll("[data-expires]")) {
      const seconds = Math.max(0, Math.ceil((Date.parse(time.dataset.expires) - Date.now() - clock) / 1000));
      time.textContent = span(seconds);
      time.parentElement.classList.toggle("soon", seconds <= 30);
    }
  };

  // What a person types stays: cards that are there are left alone.
  const merge = (fresh) => {
    const now = cards(document);
    const then = cards(fresh);
    for (const [id, card] of now) {
      if (then.has(id)) continue;
      if (card.contains(document.activeElement)) {
        const next = card.nextElementSibling || card.previousElementSibling;
        (next ? next.querySelector("h2") : document.getElementById("top")).focus();
        if (!said.textContent) say("The call that you were at waits no longer.", true);
      }
      card.remove();
    }
    for (const [id, card] of then) {
      if (!now.has(id)) list.append(document.importNode(card, true));
    }
    none.hidden = then.size > 0;
    none.textContent = fresh.getElementById("none").textContent;
    document.getElementById("lately").replaceWith(document.importNode(fresh.getElementById("lately"), true));
    document.title = fresh.title;
    tick();
  };

  const parse = (text) => {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    if (!fresh.getElementById("waiting")) throw new Error("another page");
    return fresh;
  };

  let looking = false;
  let again = false;
  const look = async () => {
    again = true;
    if (looking) return;
    looking = true;
    while (again) {
      again = false;
      try {
        const response = await fetch("/ui/approvals", {credentials: "same-origin"});
        merge(parse(await response.text()));
      } catch {
        live.textContent = "not connected";
      }
    }
    looking = false;
  };

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    event.preventDefault();
    if (form.dataset.busy) return;
    form.dataset.busy = "yes"; // a disabled button would lose the focus
    const body = new URLSearchParams(new FormData(form, event.submitter));
    try {
      const response = await fetch(form.action, {method: "POST", body, credentials: "same-origin"});
      const fresh = parse(await response.text());
      const answer = fresh.getElementById("said");
      say(answer.textContent, answer.classList.contains("bad"));
      merge(fresh);
    } catch {
      say("The gateway did not answer: look again before you answer again.", true);
    }
    delete form.dataset.busy;
  });

  const events = new EventSource("/ui/approvals/events");
  events.addEventListener("open", () => {
    live.textContent = "live";
    look();
  });
  events.addEventListener("error", () => {
    live.textContent = "not connected, trying again";
  });
  events.addEventListener("pending", look);
  events.addEventListener("settled", look);
  setInterval(tick, 1000);
  tick();
})();
