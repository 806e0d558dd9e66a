/** A person with a browser in front of `real-issuer.mjs`: follows redirects, keeps cookies, submits forms. */

/**
 * Signs in at the issuer of `url` (an authorization URL) and consents.
 *
 * @returns {Promise<string>} the callback URL, which is not opened
 */
export async function authorizeAs(url, person) {
  const { location, text } = await browse(url, person);
  if (location === undefined) throw new Error(`no redirect back: ${text}`);
  return location;
}

/** Opens `verification_uri_complete` and approves the device. */
export async function approveDeviceAs(url, person) {
  const { text } = await browse(url, person);
  if (text === undefined || !/success|continue/i.test(text)) throw new Error(`not approved: ${text}`);
}

/** Follows everything at the origin of `first`; ends at a redirect elsewhere or at a page without a form. */
async function browse(first, person) {
  const { origin } = new URL(first);
  const cookies = new Map();
  let next = { url: first, method: "GET", body: undefined };
  for (let step = 0; step < 20; step += 1) {
    const response = await fetch(next.url, {
      method: next.method,
      body: next.body,
      redirect: "manual",
      headers: {
        "x-person": person,
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
      },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (name === undefined) continue;
      if (value === "" || /expires=Thu, 01 Jan 1970/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location !== null) {
      const target = new URL(location, next.url);
      if (target.origin !== origin) return { location: target.href };
      next = { url: target.href, method: "GET", body: undefined };
      continue;
    }
    const text = await response.text();
    const form = /<form[^>]*action="([^"]+)"[^>]*>([\s\S]*?)<\/form>/.exec(text);
    if (!response.ok || form === null) return { text };
    const inputs = [...form[2].matchAll(/<input[^>]*?name="([^"]+)"[^>]*?value="([^"]*)"/g)];
    next = {
      url: new URL(form[1].replaceAll("&amp;", "&"), next.url).href,
      method: "POST",
      body: new URLSearchParams(inputs.map(([, name, value]) => [name, value])),
    };
  }
  throw new Error("too many steps");
}
