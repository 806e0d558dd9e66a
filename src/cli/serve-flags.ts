/** The flags that features add to `cardea serve`, and the settings that these replace. */
import type { Path } from "../config/tree.js";
import type { Feature } from "./feature.js";

/** A flag that a feature adds to `cardea serve`. */
export interface ServeFlag {
  /** In the form of commander: `--workers <n>`. */
  readonly flags: string;
  readonly description: string;
  /** In the line of `serve` in `cardea --help`. Default: it is not there. */
  readonly usage?: string;
  /** The setting that it, or its variable, replaces. Default: none. */
  readonly replaces?: ReplacedSetting;
}

/** A key in the settings of a section. */
interface ReplacedSetting {
  /** The path of the section. */
  readonly section: string;
  readonly key: string;
  /** A text that is not empty, or a port. */
  readonly kind: "text" | "port";
}

/** The values of the flags of `cardea serve`, by the names of commander. */
export type ServeFlagValues = Readonly<Record<string, unknown>>;

/** A flag that replaces a setting. */
interface SettingFlag extends ReplacedSetting {
  /** `--admin-port` */
  readonly name: string;
  /** CARDEA_ADMIN_PORT */
  readonly variable: string;
  /** Undefined where it is not given. */
  readonly given: string | undefined;
}

/** The flags of features that replace settings. */
export const settingFlags = (features: readonly Feature[], values: ServeFlagValues): readonly SettingFlag[] =>
  features.flatMap(({ serveFlags = [] }) =>
    serveFlags.flatMap(({ flags, replaces }): readonly SettingFlag[] => {
      if (replaces === undefined) return [];
      const [name = ""] = flags.split(" ");
      const words = name.slice(2);
      const given = values[words.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())];
      const variable = `CARDEA_${words.replaceAll("-", "_").toUpperCase()}`;
      return [{ ...replaces, name, variable, given: typeof given === "string" ? given : undefined }];
    }),
  );

/** Whether the setting at this path of the config was replaced by a flag. */
export const isReplaced = (features: readonly Feature[], values: ServeFlagValues, path: Path): boolean =>
  settingFlags(features, values).some(
    ({ section, key, given }) => given !== undefined && `${section}.${key}` === path.join("."),
  );
