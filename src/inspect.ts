/** Whether the rules and limits of a config can be put into effect, as far as only the policy can tell. */
export { checkPolicy as inspect } from "./policy/policy.js";
