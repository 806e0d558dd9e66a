/** Which of the persons who sign in may read the admin API, and which may act there (`listen.admin.access`)? */
import { z } from "zod";
import type { AdminRole } from "../../core/admin-page.js";
import type { Principal } from "../../core/client.js";

const GROUP = "group:";
/** A word and a colon before a name, as `group:` is; URLs and URNs are ids. */
const OTHER_PREFIX = /^(?!group:)[a-z]+:(?!\/\/)/;

const entry = z.string().superRefine((text, context) => {
  const fault = faultOf(text);
  if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
});

function faultOf(text: string): string | undefined {
  if (text.trim() !== text || text === "") return "must be group:NAME or the id of a principal";
  const [prefix] = OTHER_PREFIX.exec(text) ?? [];
  if (prefix !== undefined)
    return `has the prefix "${prefix}", which is not known: write group:NAME, or the id of a principal as it is`;
  return text === GROUP ? "names no group: write group:NAME" : undefined;
}

const entries = (what: string) =>
  z
    .array(entry)
    .min(1, {
      error:
        "is empty: it must name a group (group:NAME) or a principal; without the key nobody has this right",
    })
    .exactOptional()
    .describe(what);

/** The shape of the key. */
export const accessSchema = z
  .strictObject({
    viewers: entries("Who may read the admin API and the console: `group:NAME`, or the id of a principal."),
    operators: entries("Who may also act there: restart servers, disable tools, end sessions."),
  })
  .refine(({ viewers, operators }) => viewers !== undefined || operators !== undefined, {
    error: 'must have "viewers" or "operators"',
  });

/** The lists. */
export interface AccessLists {
  readonly viewers?: readonly string[];
  readonly operators?: readonly string[];
}

/** What a person may do; groups are those in the token. */
export function roleOf({ viewers = [], operators = [] }: AccessLists, person: Principal): AdminRole {
  if (names(operators, person)) return "operator";
  return names(viewers, person) ? "viewer" : "person";
}

const names = (list: readonly string[], { id, groups }: Principal): boolean =>
  list.some((each) => (each.startsWith(GROUP) ? groups.includes(each.slice(GROUP.length)) : each === id));
