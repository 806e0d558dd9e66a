/** A search field; `/` puts the cursor into it. */

interface SearchProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

/** The key stands in it while it is empty: later the browser's own ✕ is there. */
export function Search({ label, hint, value, onChange }: SearchProps) {
  return (
    <label class="search narrow">
      <span class="hidden">{label}</span>
      <input
        type="search"
        placeholder={hint}
        autocomplete="off"
        spellcheck={false}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      {value === "" && <kbd>/</kbd>}
    </label>
  );
}
