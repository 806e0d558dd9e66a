/** The sign-ins at a server, with buttons to sign in and out. */
import { useState } from "preact/hooks";
import type { ServerRow } from "../../features/admin/rows.js";
import { timeOf } from "../format.js";
import { postAction } from "../state/api.js";
import type { LoginRow } from "../state/feature-rows.js";
import { refresh } from "../state/gateway.js";
import { ActionButton, withToken } from "../ui/act.js";
import { StateBadge } from "../ui/badge.js";

interface SignInsProps {
  readonly server: ServerRow;
  readonly logins: readonly LoginRow[];
}

/** Nothing for a server without sign-in. */
export function SignIns({ server: { name, signIn }, logins }: SignInsProps) {
  const own = logins.filter(({ server }) => server === name);
  const known = new Set(own.map(({ principal }) => principal));
  const wanting = (signIn?.needed ?? []).flatMap(({ principal }): readonly LoginRow[] =>
    known.has(principal) ? [] : [{ server: name, principal, state: "needs_sign_in", scopes: [] }],
  );
  const rows = [...own, ...wanting];
  if (rows.length === 0) return null;
  return (
    <ul class="sign-ins" aria-label={`Sign-ins at ${name}`}>
      {rows.map((row) => (
        <li key={row.principal}>
          <span>
            <strong>{row.principal}</strong>
            <small class="quiet">{aboutOf(row)}</small>
          </span>
          <StateBadge state={row.state} />
          {row.state === "signed_in" ? (
            <ActionButton
              label="Sign out"
              question={`Ends the sign-in of ${row.principal} at ${name}, and revokes its tokens.`}
              action={`logins/${encodeURIComponent(name)}/${encodeURIComponent(row.principal)}/sign-out`}
              isDangerous
            />
          ) : (
            <SignInButton server={name} as={row.principal} />
          )}
        </li>
      ))}
    </ul>
  );
}

function aboutOf({ issuer, scopes, expiresAt, isRenewed }: LoginRow): string {
  const until = isRenewed ? "renews itself" : expiresAt && `until ${timeOf(expiresAt)}`;
  return [issuer, scopes.join(" "), until].filter(Boolean).join(" · ");
}

/** Opens the authorization server's page in a new tab. */
export function SignInButton({ server, as }: { readonly server: string; readonly as: string }) {
  const [trouble, setTrouble] = useState<string>();
  const signIn = async (): Promise<void> => {
    // Browsers open a tab during a click, not after an await.
    const tab = window.open("about:blank", "_blank");
    try {
      const path = `logins/${encodeURIComponent(server)}`;
      const begun = await withToken(() => postAction<{ url: string }>(path, { as }));
      if (begun === undefined) tab?.close();
      else if (tab === null || !/^https?:/.test(begun.url))
        throw new Error("the browser opened no tab for the sign-in");
      else {
        tab.opener = null;
        tab.location.href = begun.url;
      }
      setTrouble(undefined);
      await refresh();
    } catch (error) {
      tab?.close();
      setTrouble(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <button type="button" class="main" onClick={() => void signIn()}>
        Sign in
      </button>
      {trouble !== undefined && (
        <span class="bad small" role="alert">
          {trouble}
        </span>
      )}
    </>
  );
}
