/** Action buttons: with confirmation, token prompt and error message. */
import { useState } from "preact/hooks";
import { access, dropToken, postAction, TokenNeeded } from "../state/api.js";
import { openDialog } from "../state/dialogs.js";
import { gateway, refresh } from "../state/gateway.js";
import { hasActionAt } from "../state/gateway-state.js";
import { useStore } from "../state/store.js";
import { promptToken } from "./prompt-token.js";

/** Runs `work`, and prompts for the token until it is accepted. @returns undefined if cancelled */
export async function withToken<Answer>(work: () => Promise<Answer>): Promise<Answer | undefined> {
  for (let wasAsked = false; ; wasAsked = true) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof TokenNeeded)) throw error;
      dropToken();
      if (!(await promptToken(wasAsked))) return undefined;
    }
  }
}

interface ActionButtonProps {
  /** The label of the button. */
  readonly label: string;
  /** The confirmation; without one the action runs immediately. */
  readonly question?: string;
  /** The path after `/api/v1/`. */
  readonly action: string;
  readonly body?: object;
  readonly isDangerous?: boolean;
  /** Whether it is the first choice. */
  readonly isMain?: boolean;
}

/** One action of the admin API. */
export function ActionButton({
  label,
  question,
  action,
  body = {},
  isDangerous = false,
  isMain = false,
}: ActionButtonProps) {
  const [trouble, setTrouble] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const { role } = useStore(access).me;
  const act = async (): Promise<void> => {
    if (question !== undefined && !(await confirmed(question, label, isDangerous))) return;
    setBusy(true);
    setTrouble(undefined);
    try {
      if ((await withToken(() => postAction(action, body))) !== undefined) await refresh();
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  // What a person may not do is no choice.
  if (role !== undefined && role !== "operator" && !hasActionAt(gateway.state, action)) return null;
  return (
    <>
      <button
        type="button"
        class={isDangerous ? "danger" : isMain ? "main" : ""}
        disabled={isBusy}
        onClick={() => void act()}
      >
        {label}
      </button>
      {trouble !== undefined && (
        <span class="bad small" role="alert">
          {trouble}
        </span>
      )}
    </>
  );
}

async function confirmed(question: string, label: string, isDangerous: boolean): Promise<boolean> {
  const answer = await openDialog<boolean>((close) => (
    <>
      <h2>{label}?</h2>
      <p>{question}</p>
      <div class="buttons">
        <button type="button" onClick={() => close(false)}>
          Back
        </button>
        <button type="button" class={isDangerous ? "danger main" : "main"} onClick={() => close(true)}>
          {label}
        </button>
      </div>
    </>
  ));
  return answer === true;
}
