/** Serves the page: who asks, what that person may see, and the actions of its buttons. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { ANONYMOUS, type Principal } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import type { RunningGateway } from "../../core/feature.js";
import type { Logger } from "../../core/logger.js";
import type { PersonSessions } from "../../core/person-sessions.js";
import { principalKey } from "../../core/principal.js";
import { isFromOwnPage } from "../../http/check-request-head.js";
import { PageKind } from "../../http/html-page.js";
import { isLoopback } from "../../http/loopback.js";
import { addressOf, originOf } from "./address.js";
import { mainPage, refusalBody } from "./page-texts.js";
import { knownBy, personView, type WayOfKnowing } from "./person-view.js";
import { askedEndpoint, PAGE_PATH, type PressedButton, readButton } from "./requests.js";
import { STYLE } from "./style.js";

interface PersonPageOptions {
  readonly gateway: () => RunningGateway;
  readonly logger: Logger;
}

/** Browsers apply `form-action` to the redirects after a form too, which lead to an issuer: see the connect page. */
const FORM_ACTION = "'self' https: http://127.0.0.1:* http://localhost:*";
/** With `no-referrer` a browser would send the forms with `Origin: null`. */
const KIND = new PageKind({ formAction: FORM_ACTION, referrer: "same-origin" }, STYLE);

/** Relative: a proxy in front may serve the gateway below a path of its own. */
const HERE = "./";

/** The page of one gateway. */
export class PersonPage {
  constructor(private readonly options: PersonPageOptions) {}

  /** Always responds; to GET, HEAD and POST. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (request.method === "POST") await this.#act(request, response);
      else await this.#show(request, response);
    } catch (error) {
      this.#failed(response, error);
    }
  }

  async #show(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gateway = this.options.gateway();
    const { auth } = gateway.config();
    const elsewhere = this.#ownLoopback(request);
    if (elsewhere !== undefined) {
      redirect(response, `${elsewhere}${PAGE_PATH}`);
      return;
    }
    const way = knownBy(auth);
    const principal = await this.#principalOf(request, way);
    const asked = askedEndpoint(request);
    const endpoint =
      principal !== undefined && asked !== "" && !gateway.pipeline().catalog.hasEndpoint(asked, principal)
        ? ""
        : asked;
    const view = await personView(gateway, { principal, endpoint });
    const address = addressOf(request, gateway.config(), endpoint);
    const text = mainPage({
      ...view,
      ...{ way, address, principal },
      issuer: gateway.personSessions?.issuer(),
      isShared: gateway.personSessions?.isShared() ?? true,
    });
    this.#send(request, response, 200, text);
  }

  async #act(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { publicUrl } = this.options.gateway().config().listen.http;
    if (!isFromOwnPage(request, publicUrl)) {
      const sentence =
        "This form was not sent from the page of this gateway. Open the page and press the button there.";
      this.#refuse(response, 403, sentence);
      return;
    }
    const button = await readButton(request);
    const { personSessions } = this.options.gateway();
    if (button.action === "sign-in" || button.action === "sign-out") {
      if (personSessions?.issuer() === undefined) throw goneError();
      if (button.action === "sign-in") return this.#signIn(request, response, personSessions);
      await personSessions.end(request, response);
      redirect(response, HERE);
      return;
    }
    await this.#change(request, response, button);
  }

  /** At the address to which the issuer leads back: no cookie of another one would be sent there. */
  async #signIn(
    request: IncomingMessage,
    response: ServerResponse,
    personSessions: PersonSessions,
  ): Promise<void> {
    const { publicUrl } = this.options.gateway().config().listen.http;
    const { origin } = request.headers;
    if (origin === undefined || origin === "null") return personSessions.begin(request, response, PAGE_PATH);
    if (publicUrl === undefined && !isLoopback(new URL(origin).hostname)) {
      const sentence = `This gateway does not know its address for browsers, so no person can sign in. Its operator sets listen.http.publicUrl to ${origin}.`;
      return this.#refuse(response, 409, sentence);
    }
    if (publicUrl !== undefined && origin !== new URL(publicUrl).origin)
      return this.#refuse(
        response,
        409,
        `Persons sign in at ${publicUrl}${PAGE_PATH}. Open that address.`,
        `${publicUrl}${PAGE_PATH}`,
      );
    return personSessions.begin(request, response, PAGE_PATH);
  }

  /** A sign-in at a server that the person may see. */
  async #change(request: IncomingMessage, response: ServerResponse, button: PressedButton): Promise<void> {
    const gateway = this.options.gateway();
    const persons = gateway.credentials?.persons;
    const principal = await this.#principalOf(request, knownBy(gateway.config().auth));
    if (principal === undefined) {
      this.#refuse(response, 403, "You are not signed in at this gateway. Open its page and sign in first.");
      return;
    }
    // Another process may have shown the page: this one may not know yet where a sign-in is needed.
    const { signIns } = await personView(gateway, { principal, endpoint: "" });
    if (persons === undefined || !signIns.some(({ server }) => server === button.server)) throw goneError();
    if (button.action === "disconnect") {
      await persons.signOut(button.server, principalKey(principal));
      redirect(response, HERE);
      return;
    }
    const url = await persons.connectUrl(button.server, principalKey(principal), PAGE_PATH);
    if (url === undefined) throw goneError();
    redirect(response, url);
  }

  /** The person at the browser; undefined if that cannot be known. */
  async #principalOf(request: IncomingMessage, way: WayOfKnowing): Promise<Principal | undefined> {
    if (way === "anyone") return ANONYMOUS;
    return way === "signIn" ? this.options.gateway().personSessions?.of(request) : undefined;
  }

  /**
   * The origin of the gateway if a browser has opened it by another name of this machine: its cookies would not be sent to the
   * address to which the issuer leads back.
   */
  #ownLoopback(request: IncomingMessage): string | undefined {
    const gateway = this.options.gateway();
    const { auth, listen } = gateway.config();
    if (auth?.signIn === undefined || listen.http.publicUrl !== undefined) return undefined;
    const own = new URL(gateway.url() ?? "http://127.0.0.1").origin;
    const asked = new URL(originOf(request));
    return isLoopback(asked.hostname) && asked.port === new URL(own).port && asked.origin !== own
      ? own
      : undefined;
  }

  #failed(response: ServerResponse, error: unknown): void {
    if (response.headersSent) response.destroy();
    else if (error instanceof GatewayError) this.#refuse(response, statusOf(error), sentenceOf(error));
    else {
      this.options.logger.error({ error }, "the page of a person failed");
      this.#refuse(response, 500, "Something went wrong in the gateway; its log says what. Try again later.");
    }
  }

  #refuse(response: ServerResponse, status: number, sentence: string, back = HERE): void {
    response
      .writeHead(status, { ...KIND.headers })
      .end(KIND.text("Not possible", refusalBody(sentence, back)));
  }

  #send(
    request: IncomingMessage,
    response: ServerResponse,
    status: number,
    { title, body }: ReturnType<typeof mainPage>,
  ): void {
    const text = KIND.text(title, body);
    response.writeHead(status, {
      ...KIND.headers,
      "content-length": Buffer.byteLength(text),
      vary: "accept, cookie",
    });
    response.end(request.method === "HEAD" ? undefined : text);
  }
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { location, "cache-control": "no-store", "referrer-policy": "no-referrer" }).end();
}

const goneError = (): GatewayError =>
  new GatewayError(
    "bad_request",
    "gateway",
    "The page is older than the config of the gateway; load it again.",
  );

const statusOf = ({ code }: GatewayError): number =>
  code === "forbidden" ? 403 : code === "bad_request" ? 400 : 502;

const sentenceOf = ({ message }: GatewayError): string =>
  `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? "" : "."}`;
