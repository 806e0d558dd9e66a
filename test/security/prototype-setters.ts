/** What sets a prototype where JavaScript copies it. */

/** JSON texts of objects with such a member, and its path. */
export const SETTERS: readonly (readonly [string, string])[] = [
  ['{"__proto__":{"env":"prod"}}', "__proto__"],
  ['{"__proto__":null}', "__proto__"],
  ['{"__proto__":"text"}', "__proto__"],
  ['{"a":{"b":[[],[{"c":{"__proto__" \t: []}}]]}}', "a.b.1.0.c.__proto__"],
  ['{"\\u005f_proto__":{"env":"prod"}}', "__proto__"],
  ['{"\\u005F\\u005F\\u0070\\u0072\\u006f\\u0074\\u006F\\u005f\\u005f":1}', "__proto__"],
  ['{"x":1.0,"__pro\\u0074o__":{"n":9007199254740993}}', "__proto__"],
  ['{"constructor":{"prototype":{"env":"prod"}}}', "constructor.prototype"],
  ['{"constructor":{"name":"x","prototype":1}}', "constructor.prototype"],
  ['{"\\u0063onstructor":{"prototyp\\u0065":{}}}', "constructor.prototype"],
  ['{"a":[{"constructor":{"a":{"prototype":1},"prototype":{}}}]}', "a.0.constructor.prototype"],
  ['{"a":{"__proto__":1},"a":2}', "a.__proto__"],
  ['{"constructor":{"constructor":{"prototype":{}}}}', "constructor.constructor.prototype"],
];
