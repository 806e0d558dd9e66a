/** The dialog that prompts for the admin token before an action. */
import { typed } from "../format.js";
import { enterToken } from "../state/api.js";
import { openDialog } from "../state/dialogs.js";

/** Prompts for the token. @returns whether one was entered */
export async function promptToken(wasWrong = false): Promise<boolean> {
  const token = await openDialog<string>((close) => (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        close(typed(event.currentTarget, "token"));
      }}
    >
      <h2>Unlock actions</h2>
      <p>
        On the machine of the gateway, <code>cardea console</code> opens this page unlocked; nothing has to be
        configured. Elsewhere, enter <code>listen.admin.token</code> of the config here; it stays in this tab.
      </p>
      {wasWrong && (
        <p class="bad" role="alert">
          That is not the token, or the config has none.
        </p>
      )}
      <label>
        Admin token
        <input name="token" type="password" autocomplete="off" spellcheck={false} required />
      </label>
      <div class="buttons">
        <button type="button" onClick={() => close()}>
          Cancel
        </button>
        <button type="submit" class="main">
          Unlock
        </button>
      </div>
    </form>
  ));
  if (token === undefined) return false;
  enterToken(token);
  return true;
}
