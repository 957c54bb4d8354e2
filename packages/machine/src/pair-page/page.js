// The page of a device that was paired by its address: it brings the code, exchanges the key that it gets for a cookie that
// no script can read and a word that stands beside it, and shows what the machine does and what it asks. The code stands
// behind the `#`, which no browser sends, and leaves the address here before it can stand in a history.

const [told, form, list] = ["told", "pair", "sessions"].map((id) => document.getElementById(id));
const code = location.hash.slice(1);
/** Where the word is kept: the browser gives it to pages of this port alone, the cookie to every server of this computer. */
const kept = "lichen-page";
const pauseMs = 2_000;
/** A machine that has nothing to say says so three times as often. */
const silenceMs = 60_000;
/** The key, between its claim and its exchange. */
let key;
const agents = new Map();
const sessions = new Map();
/** How often a session has begun to wait. */
let waiting = 0;

if (code) history.replaceState(null, "", location.pathname);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  void attempt(pair);
});
if (code) {
  form.elements.name.value = /iPhone|iPad|Android|Mac|Windows|Linux/.exec(navigator.userAgent)?.[0];
  say("This device is about to be paired with the machine at " + location.host + ".");
  form.hidden = false;
} else void attempt(follow);

async function pair() {
  if (!key) {
    const claimed = await ask("/v1/pair/claim", { code, name: form.elements.name.value });
    key = claimed.key;
    say("Paired as " + claimed.device.name + ".");
  }
  const { page } = await ask("/login", { token: key });
  localStorage.setItem(kept, page);
  key = undefined;
  form.hidden = true;
  await follow();
}

async function follow() {
  await learnAgents();
  say("");
  const take = (info) => {
    const id = info.agent + "\n" + info.session;
    const place = sessions.get(id) ?? { section: make("section"), asked: new Map() };
    sessions.set(id, { ...place, info });
    void attempt(() => draw(id, sessions.get(id)));
  };
  const all = ({ sessions: found }) => {
    say("");
    list.replaceChildren();
    sessions.clear();
    found.forEach(take);
    if (found.length === 0) say("This machine has no sessions yet.");
  };
  const deleted = ({ agent, session }) => {
    const id = agent + "\n" + session;
    sessions.get(id)?.section.remove();
    sessions.delete(id);
  };
  const takers = new Map([
    ["baseline", all],
    ["reset", all],
    ["session", take],
    ["deleted", deleted],
  ]);
  for (;;) {
    // However it breaks off, it begins anew; only a refusal is the end.
    await hear(takers).catch(() => {});
    say("No connection to the machine; trying again…");
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    await learnAgents().catch((error) => {
      if (error.status < 500) throw error;
    });
  }
}

/** Hands over what the machine tells, until it tells no more. An `EventSource` could not say the word. */
async function hear(takers) {
  const silence = new AbortController();
  let timer;
  const listen = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), silenceMs);
  };
  listen();
  try {
    const answer = await fetch("/events", { headers: credential(), signal: silence.signal });
    if (!answer.ok) return;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ;) {
      const { done, value } = await reader.read();
      if (done) return;
      listen();
      const frames = (text + value).split("\n\n");
      text = frames.pop();
      for (const frame of frames) {
        const [kind, data] = ["event", "data"].map(
          (name) => new RegExp(`^${name}: (.*)$`, "m").exec(frame)?.[1],
        );
        if (data !== undefined) takers.get(kind)?.(JSON.parse(data));
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

async function learnAgents() {
  for (const { agent, name } of (await ask("/agents")).agents) agents.set(agent, name);
}

/**
 * Shows a session as it stands: what waits comes first, and what has waited longest stands where it stood, so that nothing
 * that comes puts itself under the finger of who answers; then the latest.
 */
async function draw(id, { info, section, asked }) {
  if (!agents.has(info.agent)) await learnAgents();
  const name = agents.get(info.agent) ?? info.agent;
  const title = info.session === "main" ? name : name + "/" + info.session;
  const state = info.approvals > 0 ? "waits for you" : info.state;
  const about = info.title ?? info.preview ?? "";
  const head = [make("h2", title), make("p", state + (about && ": " + revealed(about)))];
  section.replaceChildren(...head, ...asked.values());
  const waited = section.dataset.waits === "1";
  section.dataset.waits = info.approvals > 0 ? "1" : "0";
  if (info.approvals === 0) section.dataset.at = info.lastAt;
  else if (!waited) section.dataset.at = String(++waiting).padStart(9, "0");
  const before = ({ dataset: a }, { dataset: b }) =>
    a.waits === b.waits ? a.at < b.at === (a.waits === "1") : a.waits === "1";
  list.append(section);
  const sorted = [...list.children].sort((a, b) => (before(a, b) ? -1 : 1));
  // Only what moves is moved: who types an answer keeps the cursor.
  sorted.forEach((it, at) => list.children[at] !== it && list.insertBefore(it, list.children[at]));
  if (info.approvals === 0 && asked.size === 0) return;
  const path = `/agents/${encodeURIComponent(info.agent)}/sessions/${encodeURIComponent(info.session)}`;
  const { approvals } = await ask(path + "?limit=1");
  // What was asked for meanwhile is newer.
  if (sessions.get(id)?.info !== info) return;
  const pending = approvals.filter((it) => it.state === "pending");
  for (const [answered, element] of asked)
    if (!pending.some((it) => it.approvalId === answered) && asked.delete(answered))
      element.remove();
  for (const approval of pending.filter((it) => !asked.has(it.approvalId))) {
    const element = approvalOf(approval, path);
    asked.set(approval.approvalId, element);
    section.append(element);
  }
}

function approvalOf({ approvalId, kind, tool, input, description, questions = [] }, path) {
  const answer = (label, said) =>
    button(label, () => {
      const requestId = "page:" + crypto.getRandomValues(new Uint32Array(4)).join("-");
      void attempt(() =>
        ask(path + "/commands", { type: "answer", requestId, approvalId, ...said() }),
      );
    });
  const deny = answer("Deny", () => ({ allow: false }));
  const box = make("div", description === undefined ? "" : revealed(description));
  // A part that is kept beside the log is not shown here, and nobody allows what they have not seen.
  if (/"blob":"[0-9a-f]{64}"/.test(JSON.stringify([input, questions]))) {
    box.append(make("p", "It is too long for this page. See it whole with: lichen approve"), deny);
    return box;
  }
  if (kind !== "question") {
    box.append(make("p", "May it call " + revealed(tool ?? "a tool") + "?"));
    box.append(make("pre", revealed(JSON.stringify(input ?? {}, null, 2))));
    box.append(
      answer("Allow", () => ({ allow: true })),
      deny,
    );
    return box;
  }
  const named = questions.map(fieldOf).filter(({ text }) => text !== undefined);
  const fields = named.length > 0 ? named : [fieldOf("The agent has a question.")];
  const said = () => {
    const written = fields.map(({ text, field }) => [text, field.value.trim()]);
    const answers = written.filter(([, answer]) => answer !== "");
    if (answers.length === 0) throw new Error("Write an answer, or deny the question.");
    if (named.length > 0) return { allow: true, answers: Object.fromEntries(answers) };
    return { allow: true, message: answers[0][1] };
  };
  box.append(...fields.map(({ element }) => element), answer("Answer", said), deny);
  return box;
}

/** A question with its options, which write themselves into the field. */
function fieldOf(question) {
  const {
    question: text,
    options = [],
    multiSelect,
  } = typeof question === "string" ? { question } : (question ?? {});
  const element = make("label", revealed(String(text)));
  const field = make("input");
  element.append(field);
  for (const option of Array.isArray(options) ? options : []) {
    const label = String(option?.label ?? option);
    const hint = option?.description ? revealed(": " + option.description) : "";
    const choose = button(revealed(label) + hint, () => {
      field.value = multiSelect && field.value ? field.value + ", " + label : label;
    });
    choose.type = "button";
    element.append(choose);
  }
  return { text, element, field };
}

/** Nothing in it is out of sight: what would not be seen stands as its number. */
function revealed(text) {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu, (char) =>
    char === "\n" ? char : `\\u{${char.codePointAt(0).toString(16).padStart(4, "0")}}`,
  );
}

async function ask(path, body) {
  const headers = { "content-type": "application/json", ...credential() };
  const sent = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const answer = await fetch(path, sent);
  const found = answer.status === 204 ? {} : await answer.json();
  if (answer.ok) return found;
  const why =
    answer.status === 401 && !body
      ? "This device is not paired, or not any more: run lichen pair on the machine."
      : (found.error?.message ?? found.error);
  throw Object.assign(new Error(why), { status: answer.status });
}

/** What counts beside the cookie. */
function credential() {
  const page = localStorage.getItem(kept);
  return page === null ? {} : { [kept]: page };
}

/** What goes wrong is told. */
async function attempt(work) {
  try {
    await work();
  } catch (error) {
    say(error.message);
  }
}

function say(text) {
  told.textContent = text;
}

function button(label, press) {
  const element = make("button", label);
  element.addEventListener("click", press);
  return element;
}

function make(kind, text = "") {
  const element = document.createElement(kind);
  element.textContent = text;
  return element;
}
