/**
 * A person's browser at the pages of the gateway: it keeps cookies, submits forms, and signs in at the issuer as a
 * given person.
 */
import { authorizeAs } from "./person.mjs";

/** What the browser shows. */
export interface Shown {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly url: string;
}

export class Browser {
  readonly cookies = new Map<string, string>();
  /** Each `Set-Cookie` that came. */
  readonly setCookies: string[] = [];

  async request(url: string, init: RequestInit = {}): Promise<Shown> {
    const response = await fetch(url, {
      ...init,
      redirect: "manual",
      headers: {
        ...(init.headers as Record<string, string>),
        cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; "),
      },
    });
    for (const line of response.headers.getSetCookie()) {
      this.setCookies.push(line);
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0/i.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return { status: response.status, text: await response.text(), headers: response.headers, url };
  }

  open(url: string): Promise<Shown> {
    return this.request(url);
  }

  /** Presses the one button of a page. */
  press(page: Shown, fields: Readonly<Record<string, string>> = {}, init: RequestInit = {}): Promise<Shown> {
    const hidden = [...page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const body = new URLSearchParams({
      ...Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value])),
      ...fields,
    });
    return this.request(page.url, { method: "POST", body, ...init });
  }

  /** From the connect page to the page at the end. */
  async signIn(url: string, person: string, fields: Readonly<Record<string, string>> = {}): Promise<Shown> {
    const started = await this.press(await this.open(url), fields);
    const location = started.headers.get("location");
    if (location === null) return started;
    return this.open(await authorizeAs(location, person));
  }
}
