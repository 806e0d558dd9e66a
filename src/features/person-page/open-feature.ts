/** The page, by what it plugs into a gateway. */
import type { OpenFeature, RunningGateway } from "../../core/feature.js";
import type { Logger } from "../../core/logger.js";
import { isForBrowser } from "../../downstream/browser-page.js";
import type { PersonPage } from "./person-page.js";
import { isForm, PAGE_PATH } from "./requests.js";

/** Nothing is loaded before the first browser opens it. */
export function openFeature(logger: Logger): OpenFeature {
  let attached: RunningGateway | undefined;
  let page: Promise<PersonPage> | undefined;
  const gateway = (): RunningGateway => {
    if (attached === undefined) throw new TypeError("there is no gateway yet");
    return attached;
  };
  const opened = (): Promise<PersonPage> => {
    page ??= import("./person-page.js").then((module) => new module.PersonPage({ gateway, logger }));
    return page;
  };
  return {
    name: "person-page",
    attach(running) {
      attached = running;
    },
    routes: [
      {
        path: PAGE_PATH,
        asker: "browser",
        isForPersons: true,
        // A program gets the refusal of an unknown path, which names the endpoint.
        serve: (request, response) =>
          isForBrowser(request) || isForm(request)
            ? opened().then((it) => it.serve(request, response))
            : undefined,
      },
    ],
    close: async () => {},
  };
}
