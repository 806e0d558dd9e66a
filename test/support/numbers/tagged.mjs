/** JSON whose numbers are texts that begin with `#`, so that JavaScript cannot change them: `{"a":1.0}` is `{"a":"#1.0"}`. */

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

/** Reads JSON text. @param {string} text */
export const readTagged = (text) =>
  JSON.parse(text.replace(TOKEN, (token) => (token.startsWith('"') ? token : `"#${token}"`)));

/** Writes JSON text; plain numbers are written as JavaScript does. @param {unknown} value */
export const writeTagged = (value) => JSON.stringify(value).replace(/"#(-?\d[-+.\deE]*)"/g, "$1");
