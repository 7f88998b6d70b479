"use strict";
// Puts what the server tells in the place of the parts of this page, and sends its forms.
(() => {
  const address = document.currentScript.dataset.events;
  const link = document.getElementById("link");
  const answer = document.getElementById("answer");
  let source = null;
  let later = null;

  const shown = new Map();

  const tell = text => { link.textContent = " · " + text; };

  const take = event => {
    const news = JSON.parse(event.data);
    if (news.title) document.title = news.title;
    for (const [name, html] of Object.entries(news.parts)) {
      const part = document.getElementById(name);
      // What is told a second time leaves what is selected in it alone.
      if (part && shown.get(name) !== html) part.innerHTML = html;
      shown.set(name, html);
    }
    tell("live");
  };

  const open = () => {
    if (source) return;
    clearTimeout(later);
    source = new EventSource(address);
    source.addEventListener("page", take);
    source.addEventListener("over", event => {
      tell(event.data);
      askLater();
    });
    source.onerror = () => {
      const isGone = source.readyState === EventSource.CLOSED;
      tell(isGone ? "the server tells nothing of this" : "no connection, trying again");
      if (isGone) askLater();
    };
  };

  // Another run of what has ended may begin.
  const askLater = () => {
    close();
    later = setTimeout(open, 5000);
  };

  const close = () => {
    clearTimeout(later);
    if (source) source.close();
    source = null;
  };

  // Browsers open few connections to one server: pages that nobody sees leave theirs to others.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") close(); else open();
  });

  document.addEventListener("submit", async event => {
    event.preventDefault();
    const form = event.target;
    const fields = new URLSearchParams(new FormData(form));
    answer.textContent = "asking …";
    try {
      const sent = await fetch(form.getAttribute("action"), {
        method: "POST", body: fields, headers: { Accept: "text/plain" }
      });
      answer.textContent = await sent.text();
    } catch (failure) {
      answer.textContent = "the server does not answer: " + failure.message;
    }
  });

  open();
})();
