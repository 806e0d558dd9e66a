/** Which environment variables a server process gets: a short list of the gateway's, and those of its config. */

const POSIX = new Set(["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "TZ"]);

const WINDOWS = new Set([
  "PATH",
  "PATHEXT",
  "APPDATA",
  "LOCALAPPDATA",
  "PROGRAMDATA",
  "PROGRAMFILES",
  "PROGRAMFILES(X86)",
  "HOMEDRIVE",
  "HOMEPATH",
  "USERNAME",
  "USERPROFILE",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "WINDIR",
  "COMSPEC",
  "PROCESSOR_ARCHITECTURE",
  "TEMP",
  "TMP",
]);

type Environment = { readonly [name: string]: string | undefined };

/** The allowed variables of `inherited`, overridden by `own`. Names are case-insensitive on Windows. */
export function childEnvironment(
  own: Readonly<Record<string, string>>,
  inherited: Environment = process.env,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(inherited)) {
    // A value that begins with "()" is a function exported by an old bash, which another bash would run (Shellshock).
    if (value !== undefined && !value.startsWith("()") && mayInherit(name, platform))
      environment[name] = value;
  }
  for (const [name, value] of Object.entries(own)) {
    if (platform === "win32") {
      for (const twin of Object.keys(environment)) {
        if (twin.toUpperCase() === name.toUpperCase()) delete environment[twin];
      }
    }
    environment[name] = value;
  }
  return environment;
}

function mayInherit(name: string, platform: NodeJS.Platform): boolean {
  return platform === "win32" ? WINDOWS.has(name.toUpperCase()) : POSIX.has(name) || name.startsWith("LC_");
}
