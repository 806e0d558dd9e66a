/** A form from a JSON schema. */
import type { Draft, Field } from "../mcp/form.js";

interface SchemaFormProps {
  readonly fields: readonly Field[];
  readonly draft: Draft;
  /** Keyed by path, e.g. `place.city`. */
  readonly faults: Readonly<Record<string, string>>;
  readonly onChange: (draft: Draft) => void;
  readonly path?: string;
}

/** One input per field; groups are drawn as boxes. */
export function SchemaForm({ fields, draft, faults, onChange, path = "" }: SchemaFormProps) {
  if (fields.length === 0) return <p class="quiet">It takes no arguments.</p>;
  return (
    <>
      {fields.map((field) => {
        const at = path === "" ? field.name : `${path}.${field.name}`;
        const value = draft[field.name] ?? "";
        const set = (typed: Draft[string]): void => onChange({ ...draft, [field.name]: typed });
        if (field.kind === "group") {
          return (
            <fieldset key={at}>
              <legend>{field.label}</legend>
              <SchemaForm
                fields={field.fields}
                draft={value as Draft}
                faults={faults}
                onChange={set}
                path={at}
              />
            </fieldset>
          );
        }
        return <FieldInput key={at} field={field} at={at} value={value} fault={faults[at]} onChange={set} />;
      })}
    </>
  );
}

interface FieldInputProps {
  readonly field: Field;
  readonly at: string;
  readonly value: Draft[string];
  readonly fault: string | undefined;
  readonly onChange: (typed: Draft[string]) => void;
}

function FieldInput({ field, at, value, fault, onChange }: FieldInputProps) {
  const { label, description, isRequired } = field;
  const id = `field-${at}`;
  return (
    <div class="field">
      <label for={id}>
        <span class="label">{label}</span>{" "}
        <span class="quiet small">
          {[typeOf(field), isRequired ? "required" : undefined].filter(Boolean).join(", ")}
        </span>
      </label>
      <Control
        field={field}
        value={value}
        onChange={onChange}
        attributes={{
          id,
          "aria-invalid": fault !== undefined,
          "aria-describedby": `${id}-about`,
          required: isRequired,
        }}
      />
      <span id={`${id}-about`} class="about-field">
        {fault !== undefined && <span class="bad">{`${label} ${fault}. `}</span>}
        <span class="quiet">{description}</span>
      </span>
    </div>
  );
}

interface ControlProps extends Pick<FieldInputProps, "field" | "value" | "onChange"> {
  /** Its id, and what assistive technology reads of it. */
  readonly attributes: Readonly<Record<string, string | boolean>>;
}

/** The control of a field, by its kind. */
function Control({ field, value, onChange, attributes }: ControlProps) {
  const text = typeof value === "string" ? value : "";
  const onInput = (event: { readonly currentTarget: { readonly value: string } }): void =>
    onChange(event.currentTarget.value);
  const longText = <textarea {...attributes} rows={3} spellcheck={false} value={text} onInput={onInput} />;
  switch (field.kind) {
    case "choice":
      return (
        <select {...attributes} value={text} onChange={onInput}>
          <option value="">–</option>
          {field.options.map((option, index) => (
            <option key={option.label} value={String(index)}>
              {option.label}
            </option>
          ))}
        </select>
      );
    case "choices":
      return (
        <select
          {...attributes}
          multiple
          onChange={(event) =>
            onChange(Array.from(event.currentTarget.selectedOptions, (option) => option.value))
          }
        >
          {field.options.map((option, index) => (
            <option
              key={option.label}
              value={String(index)}
              selected={(value as readonly string[]).includes(String(index))}
            >
              {option.label}
            </option>
          ))}
        </select>
      );
    case "number":
      return <input {...attributes} inputMode="decimal" value={text} onInput={onInput} />;
    case "text":
      return isLong(field.schema) ? (
        longText
      ) : (
        <input
          {...attributes}
          inputMode={field.schema.format === "email" ? "email" : "text"}
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={onInput}
        />
      );
    case "lines":
    case "json":
      return longText;
    case "group": // drawn as a box
      return null;
  }
}

/** Such texts are usually whole documents. */
const isLong = (schema: Field["schema"]): boolean => {
  const { maxLength, contentMediaType, format } = schema;
  return (
    (typeof maxLength === "number" && maxLength > 200) ||
    contentMediaType !== undefined ||
    format === "textarea"
  );
};

function typeOf({ kind, schema }: Field): string {
  if (kind === "lines") return "one on each line";
  if (kind === "json") return `${typeof schema.type === "string" ? schema.type : "any"}, as JSON`;
  return kind === "number" || kind === "text" ? String(schema.format ?? schema.type) : "";
}
