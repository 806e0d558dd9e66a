/** The token prompt of a locked page. */
import { useEffect, useRef } from "preact/hooks";
import { access, enterToken } from "../state/api.js";
import { signIn } from "../state/sign-in.js";
import { useStore } from "../state/store.js";

/** Prompts for the token; nothing else is shown until it is accepted. */
export function TokenPrompt() {
  const { isWrong, me, signInTrouble } = useStore(access);
  const { signIn: offer } = me;
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  return (
    <main id="main" class="door">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          if (input.current !== null) enterToken(input.current.value);
        }}
      >
        <h1>This gateway is locked</h1>
        {offer !== undefined && (
          <button type="button" class="main" onClick={() => void signIn(offer)}>
            Sign in
          </button>
        )}
        {signInTrouble !== undefined && (
          <p class="bad" role="alert">
            {signInTrouble}
          </p>
        )}
        <label for="token">Token of its admin listener</label>
        <input ref={input} id="token" type="password" autocomplete="off" spellcheck={false} required />
        <p class="quiet">
          It is <code>listen.admin.token</code> of the config, and stays in this tab. On the machine of the
          gateway <code>cardea console</code> opens this page unlocked.
        </p>
        {isWrong && (
          <p class="bad" role="alert">
            That is not the token.
          </p>
        )}
        <button type="submit" class={offer === undefined ? "main" : ""}>
          Enter
        </button>
      </form>
    </main>
  );
}
