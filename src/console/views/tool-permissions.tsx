/** Which principals may use a tool: explains a call of each. */
import { useState } from "preact/hooks";
import { typed } from "../format.js";
import { gateway } from "../state/gateway.js";
import { usePage } from "../state/page.js";
import { useStore } from "../state/store.js";
import { StateBadge } from "../ui/badge.js";
import { Table } from "../ui/panel.js";
import type { Explained } from "./explain.js";

/** A row per principal with a session, and one for a typed principal. */
export function ToolPermissions({ name }: { readonly name: string }) {
  const { sessions, logins } = useStore(gateway);
  const [asked, setAsked] = useState("");
  const known = [...sessions, ...logins].map(({ principal }) => principal);
  const principals = [...new Set(["anonymous", "operator", ...known, ...(asked === "" ? [] : [asked])])];
  return (
    <>
      <Table label="Who may use it" columns={["Principal", "Decision", "Rule", "Listed"]}>
        {principals.map((principal) => (
          <PrincipalRow key={principal} name={name} principal={principal} />
        ))}
      </Table>
      <form
        class="inline"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked(typed(event.currentTarget, "principal"));
        }}
      >
        <label>
          Another principal
          <input name="principal" autocomplete="off" spellcheck={false} />
        </label>
        <button type="submit">Check</button>
      </form>
    </>
  );
}

function PrincipalRow({ name, principal }: { readonly name: string; readonly principal: string }) {
  const query = new URLSearchParams({ name, as: principal });
  const { page, trouble } = usePage<Explained>(`explain?${query}`);
  return (
    <tr>
      <th scope="row">{principal}</th>
      <td>
        {page?.effect === undefined ? (page?.unknown ?? trouble ?? "…") : <StateBadge state={page.effect} />}
      </td>
      <td>{page?.rule ?? "–"}</td>
      <td>{page?.listing === undefined ? "–" : page.listing.isListed ? "yes" : "no"}</td>
    </tr>
  );
}
