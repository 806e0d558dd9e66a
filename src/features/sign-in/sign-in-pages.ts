/** The sign-in pages of the main listener: the connect page, the callback, and the client ID metadata document. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "../../core/logger.js";
import { writeJson } from "../../wire/json-text.js";
import { AGAIN, type Begun, cookieOf } from "./authorizations.js";
import {
  browserCookies,
  CSRF_COOKIE,
  clearCookie,
  csrfToken,
  isCsrfToken,
  newSecret,
  setCookie,
} from "./browser-cookies.js";
import { type Identification, identityQuestion, isKeyOf } from "./identify-person.js";
import { clientMetadataDocument } from "./oauth/client.js";
import { PAGE_HEADERS, sendPage } from "./page.js";
import { connectPage, finishedPage, refusalPage } from "./page-texts.js";
import type { Proof } from "./pending-content.js";
import { CALLBACK_PATH, clientDocumentUrl } from "./prepare-sign-in.js";
import { asRefusal, SignInRefusal } from "./sign-in-refusal.js";
import type { SignIns } from "./sign-ins.js";

/** Dependencies of the pages. */
export interface SignInPagesOptions {
  readonly signIns: SignIns;
  /** From the live config. */
  readonly identification: () => Identification;
  /** The URL of the gateway for browsers, without a slash at its end. */
  readonly baseUrl: () => string;
  readonly logger: Logger;
  /** ms since 1970. */
  readonly now: () => number;
}

/** Serves one route. The headers were checked: `Host`, and the `Origin` of the form. */
export type SignInPage = "connect" | "callback" | "client";

/** Serves the pages. */
export class SignInPages {
  constructor(private readonly options: SignInPagesOptions) {}

  /** Always responds; `ticket` is the last part of the `connect` path. */
  async serve(
    page: SignInPage,
    request: IncomingMessage,
    response: ServerResponse,
    ticket: string,
  ): Promise<void> {
    try {
      if (page === "client") this.#client(request, response);
      else if (page === "callback") await this.#callback(request, response);
      else await this.#connect(request, response, ticket);
    } catch (error) {
      const refusal = asRefusal(error);
      if (refusal === undefined) {
        this.options.logger.error({ error, page }, "a page of a sign-in failed");
        const sentence = `Something went wrong in the gateway; its log says what. ${AGAIN}`;
        sendPage(response, 500, refusalPage(sentence));
      } else sendPage(response, refusal.status, refusalPage(refusal.message, this.#urlOf(refusal.back)));
    }
  }

  async #connect(request: IncomingMessage, response: ServerResponse, ticket: string): Promise<void> {
    const { method } = request;
    if (method === "POST") return this.#start(request, response, ticket);
    if (method !== "GET") return notAllowed(response, "GET, POST");
    const { identification, signIns, now } = this.options;
    const found = await signIns.ticket(ticket);
    const question = identityQuestion(found, identification(), now());
    const secret = browserCookies(request, this.#isSecure).get(CSRF_COOKIE) ?? newSecret();
    const page = connectPage(found, found.prepared, { csrf: csrfToken(secret, ticket), question });
    sendPage(response, 200, page, [setCookie(CSRF_COOKIE, secret, this.#isSecure)]);
  }

  /** The form of the page. Only this starts a sign-in and sets its cookie. */
  async #start(request: IncomingMessage, response: ServerResponse, ticket: string): Promise<void> {
    const { signIns } = this.options;
    const form = await readForm(request);
    const secret = browserCookies(request, this.#isSecure).get(CSRF_COOKIE);
    if (!isCsrfToken(form.get("csrf") ?? "", secret, ticket)) {
      throw new SignInRefusal(
        "This form was not sent from the page that this browser was shown, or the browser keeps no cookies. Open the address again and press the button there.",
        403,
      );
    }
    const proof = await this.#proof(ticket, form.get("key") ?? "");
    this.#sendOn(response, await signIns.start(ticket, proof));
  }

  /** Redirects to the issuer, with the cookie that the callback requires. */
  #sendOn(response: ServerResponse, { url, cookie }: Begun, ...others: readonly string[]): void {
    const own = cookie === undefined ? [] : [setCookie(cookie.name, cookie.value, this.#isSecure)];
    response.writeHead(303, { ...PAGE_HEADERS, location: url, "set-cookie": [...others, ...own] }).end();
  }

  async #proof(ticket: string, key: string): Promise<Proof> {
    const { identification, signIns, now } = this.options;
    const found = await signIns.ticket(ticket);
    const { principal } = found;
    const question = identityQuestion(found, identification(), now());
    if (question === "none") return "loopback";
    if (question !== "key") return question;
    return isKeyOf(principal, key, identification(), now()) ? "key" : signIns.wrongKey(ticket);
  }

  async #callback(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "GET") return notAllowed(response, "GET");
    const parameters = new URL(request.url ?? "", "http://gateway").searchParams;
    const cookies = browserCookies(request, this.#isSecure);
    const finished = await this.options.signIns.callback({ parameters, cookie: cookies.get });
    const spent = clearCookie(cookieOf(parameters.get("state") ?? ""), this.#isSecure);
    if ("url" in finished) {
      this.#sendOn(response, finished, spent);
      return;
    }
    sendPage(response, 200, finishedPage(finished, this.#urlOf(finished.back)), [spent]);
  }

  #client(request: IncomingMessage, response: ServerResponse): void {
    if (request.method !== "GET") {
      notAllowed(response, "GET");
      return;
    }
    const baseUrl = this.options.baseUrl();
    const url = clientDocumentUrl(baseUrl);
    if (url === undefined) {
      throw new SignInRefusal(
        "There is no client metadata document here: authorization servers fetch it over https only. Set listen.http.publicUrl to an https URL.",
        404,
      );
    }
    const document = clientMetadataDocument({
      url,
      redirectUris: [`${baseUrl}${CALLBACK_PATH}`],
      clientUri: baseUrl,
    });
    response
      .writeHead(200, {
        "content-type": "application/json",
        "cache-control": "max-age=300",
        "access-control-allow-origin": "*",
        "x-content-type-options": "nosniff",
      })
      .end(writeJson(document));
  }

  /** Of a page of the gateway. Its path comes from the record of the sign-in, never from the request. */
  #urlOf(path: string | undefined): string | undefined {
    return path === undefined ? undefined : `${this.options.baseUrl()}${path}`;
  }

  get #isSecure(): boolean {
    return this.options.baseUrl().startsWith("https:");
  }
}

function notAllowed(response: ServerResponse, allow: string): void {
  response.setHeader("allow", allow);
  sendPage(response, 405, refusalPage(`This address takes ${allow} only.`));
}

/** A token and a key have a few hundred bytes. */
const MAX_BYTES = 16_384;

/** Reads a form body. @throws SignInRefusal if it is not a form or too large */
async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  if (!/^application\/x-www-form-urlencoded(?:\s*;|$)/i.test(request.headers["content-type"] ?? "")) {
    throw new SignInRefusal("This address takes the form of its own page only. Open it in a browser.", 400);
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_BYTES) throw new SignInRefusal("The form is too large.", 400);
    chunks.push(chunk as Buffer);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
}
