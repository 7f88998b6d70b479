"use strict";
// Puts what the server tells in the place of the parts of this page, and sends its forms.
(() => {
  const address = document.currentScript.dataset.events;
  const link = document.getElementById("link");
  const answer = document.getElementById("answer");
  let source = null;
  let isOver = false;

  const tell = text => { link.textContent = " · " + text; };

  const take = event => {
    const news = JSON.parse(event.data);
    if (news.title) document.title = news.title;
    for (const [name, html] of Object.entries(news.parts)) {
      const part = document.getElementById(name);
      if (part) part.innerHTML = html;
    }
    tell("live");
  };

  const open = () => {
    if (source || isOver) return;
    source = new EventSource(address);
    source.addEventListener("page", take);
    source.addEventListener("over", event => {
      isOver = true;
      close();
      tell(event.data);
    });
    source.onerror = () => {
      const isGone = source.readyState === EventSource.CLOSED;
      tell(isGone ? "the server tells nothing more of this: load the page anew"
                  : "no connection, trying again");
    };
  };

  const close = () => {
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
