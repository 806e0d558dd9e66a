/** What only the policy can tell of the rules and limits of a config: whether they work, and whether they make sense. */
export { checkPolicy as inspect, policyAdvice as advise } from "../policy/policy.js";
