/** A person without a browser at the gateway's page of a sign-in: presses its button, goes where it leads, and comes back. */

const MOST_STEPS = 20;

/**
 * @param {string} page the connect URL
 * @returns {Promise<{ status: number, sentence: string }>} the page at the end
 */
export async function signInAt(page) {
  const cookies = new Map();
  const send = async (url, init = {}) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { ...init, redirect: "manual", headers: { ...init.headers, cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (name !== undefined) cookies.set(name, value);
    }
    return response;
  };
  const first = await send(page);
  const text = await first.text();
  if (!first.ok) return { status: first.status, sentence: sentenceOf(text) };
  const hidden = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  const body = new URLSearchParams(hidden.map(([, name, value]) => [name, value]));
  let [url, response] = [page, await send(page, { method: "POST", body })];
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const location = response.headers.get("location");
    if (location === null) return { status: response.status, sentence: sentenceOf(await response.text()) };
    await response.body?.cancel();
    url = new URL(location, url).href;
    response = await send(url);
  }
  throw new Error(`${page} leads from one page to another without an end`);
}

const sentenceOf = (html) =>
  html
    .replace(/<style[\s\S]*?<\/style>/g, "")
    .replace(/<[^>]+>/g, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 400);
