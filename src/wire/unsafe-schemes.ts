/** Which URL schemes are never a program's own: those that run script, show content, reach a network, or belong to a system. */
const UNSAFE = new Set([
  // Script, content and pages of browsers.
  ...["javascript", "vbscript", "livescript", "jscript", "mocha", "data", "blob", "filesystem", "about"],
  ...["view-source", "file", "jar", "mhtml", "cid", "mid", "resource", "res", "wyciwyg", "urn", "feed"],
  ...[
    "chrome",
    "chrome-extension",
    "chrome-search",
    "chrome-untrusted",
    "devtools",
    "edge",
    "brave",
    "opera",
  ],
  ...["moz-extension", "moz-icon", "safari-extension", "safari-web-extension", "extension", "intent"],
  ...["android-app", "content", "app", "null", "blank"],
  // Networks and messages.
  ...["http", "https", "ws", "wss", "ftp", "ftps", "sftp", "scp", "ssh", "telnet", "gopher", "dict", "dns"],
  ...[
    "ldap",
    "ldaps",
    "smb",
    "nfs",
    "afp",
    "dav",
    "davs",
    "webdav",
    "git",
    "svn",
    "rtsp",
    "rtp",
    "irc",
    "ircs",
  ],
  ...["news", "nntp", "imap", "pop", "smtp", "mailto", "tel", "sms", "sip", "sips", "facetime", "vnc", "rdp"],
  // Handlers of operating systems.
  ...["shell", "search", "search-ms", "hcp", "its", "mk", "help", "x-apple-helpbasic", "applescript"],
  ...["itms", "itms-apps", "itms-services", "prefs", "app-prefs", "market", "appstream", "microsoft-edge"],
]);

/** Whether no program can be meant by `scheme`, which is in lower case and has no colon. Those of Windows start with `ms-`. */
export const isUnsafeScheme = (scheme: string): boolean => UNSAFE.has(scheme) || scheme.startsWith("ms-");
