/** Labels and tags with which a text addresses the model: `SYSTEM:`, `<IMPORTANT>`, `note to assistant`. */
import type { Match, RuleId, Severity } from "../finding.js";
import { isMention } from "../text/vocabulary.js";

interface LabelRule {
  readonly rule: RuleId;
  readonly severity: Severity;
  readonly message: string;
  /** With the flag `g`; each alternative has a bounded length, so that the time is linear. */
  readonly shape: RegExp;
  /** What must be in a text in lower case for the expression to be tried. */
  readonly needs: readonly string[];
}

const LABELS: readonly LabelRule[] = [
  {
    rule: "order-to-model",
    severity: "medium",
    message: "it addresses the model in a tag",
    shape:
      /<[ /]?(?:important|system|secret|hidden|instructions?|critical|admin|assistant|override|sudo|attention|internal)(?:[ _-][^<>]{0,40})?>/gi,
    needs: ["<"],
  },
  {
    rule: "order-to-model",
    severity: "high",
    message: "it addresses the model",
    shape:
      /\b(?:hidden|secret|covert|concealed)[ _-](?:system )?(?:instructions?|directives?|prompts?|commands?|orders?)\b|\[[ ]?(?:system|assistant|hidden|secret|admin|model|ai)[^\]\n]{0,24}(?:instructions?|override|directive|message|note|prompt)\b/gi,
    needs: ["hidden", "secret", "covert", "concealed", "["],
  },
  {
    rule: "order-to-model",
    severity: "medium",
    message: "it addresses the model",
    shape:
      /\bnotes? (?:to|for) (?:the |any )?(?:ai|llm|assistant|(?:language )?model|agent|claude|chatgpt)\b|\b(?:system|assistant|developer|admin|ai|agent|model) (?:instructions?|override|directive|notice|note|reminder|command|message)s? ?:|(?:^|[.!?\n\]})#]) {0,4}(?:SYSTEM|ASSISTANT|ADMIN)(?: [A-Z]{2,12}){0,2} ?:|\bnew system (?:message|prompt|instructions?)\b|\{\{ ?system\b|<\|(?:im_start|im_end|system|user|assistant)\|>|\[\/?INST\]/gi,
    needs: ["note", "system", "assistant", "developer", "admin", "ai ", "agent", "model", "<|", "inst]"],
  },
  {
    rule: "order-to-model",
    severity: "medium",
    message: "it gives the model another role",
    shape:
      /\byou are now (?:in |an? |the )|\bfrom now on,? (?:you|always|never|every|all|forward|send|use|call)\b|\b(?:developer|dan|god|admin|debug|unrestricted) mode\b[^.]{0,40}\b(?:must|comply|without|enabled|activated)\b|\bnew instructions ?:|\b(?:you have a|your) new (?:goal|task|objective|role|mission|purpose)\b|\b(?:rules|instructions|guidelines|restrictions|policies) (?:do not|don.t|no longer) apply\b/gi,
    needs: ["you are now", "from now on", " mode", "new ", " apply"],
  },
  {
    rule: "override-instructions",
    severity: "medium",
    message: "it asks to ignore what was said before",
    shape:
      /\b(?:ignore|disregard|forget) (?:the |everything |all |anything )?(?:above|previous|prior|preceding|earlier)\b|\bignor(?:iere|a|e|ez|er) (?:alle |todas |las |toutes |les )?(?:vorherigen|bisherigen|instrucciones|instructions) |忽略(?:所有|之前|以上|先前)|игнорируй/gi,
    needs: ["ignor", "disregard", "forget", "忽略", "игнорируй"],
  },
  {
    rule: "secrecy",
    severity: "medium",
    message: "it asks to keep something from the user",
    shape:
      /\b(?:leave|keep) (?:it|this|that|them) (?:out of|secret|hidden|confidential|between us|private|quiet|to yourself)\b|\bomit (?:it|this|that|them) (?:from|in) (?:your|the|any)\b|\b(?:nobody|no one) (?:must |should |may |can |will |ever )?(?:knows?|learns?|notices?|sees?|find out)\b|\busers? (?:(?:must|should|need|shall|will)(?: not|n.t| never) (?:ever )?(?:to )?(?:know|see|notice|be (?:told|aware|informed|notified|alerted)|learn|find)|(?:does|do)(?: not|n.t) (?:have|need) to (?:know|see|be (?:told|informed|notified))|(?:is|are)(?: not|n.t) (?:to )?(?:be )?(?:told|aware|informed|notified|alerted))\b|\b(?:invisible|hidden|unknown) (?:to|from) (?:the |any |your )?(?:user|human|customer)/gi,
    needs: [
      "leave ",
      "keep ",
      "omit ",
      "nobody",
      "no one",
      " not ",
      "n't ",
      "invisible",
      "hidden",
      "unknown",
      "unaware",
    ],
  },
  {
    rule: "override-instructions",
    severity: "medium",
    message: "it claims a consent of the user, or asks for none",
    shape:
      /\b(?:user|owner|admin|administrator)s? (?:has|have) (?:already |previously )?(?:consented|approved|authori[sz]ed|agreed|granted|given (?:consent|permission|approval))\b|\b(?:skip|no need (?:to|for)|don.t bother|refrain from) (?:ask|confirm|request|prompt|verif)\w{0,8}\b[^.]{0,24}\b(?:user|permission|consent|approval|confirm\w{0,6})\b/gi,
    needs: [
      "already",
      "consent",
      "approved",
      "authori",
      "agreed",
      "granted",
      "given",
      "skip",
      "no need",
      "bother",
      "refrain",
    ],
  },
  {
    rule: "override-instructions",
    severity: "medium",
    message: "it says that it is another one once it is approved",
    shape:
      /\b(?:once|after|when|as soon as) [^.;\n]{0,24}\b(?:tool|server|plugin|description|definition|skill)s? (?:is|are|was|were|has been|have been|gets?) (?:been )?(?:approved|reviewed|trusted|vetted|accepted|allow-?listed|whitelisted|audited)\b|\b(?:swap|switch|replace|change|alter|modif)\w{0,4} (?:it|its \w{1,20}|(?:this|the) (?:tool|description|definition|behaviou?r|implementation|version))\b[^.;\n]{0,32}\b(?:post[- ]?|after |following )(?:the |its |your )?(?:approval|review|audit|consent|installation)\b|\b(?:post[- ]?|after |following )(?:the |its |your )?(?:approval|review|audit|consent|installation)\b[^.;\n]{0,32}\b(?:it|(?:this|the) (?:tool|description|definition|behaviou?r|implementation)) (?:will |is going to )?(?:be )?(?:swap|switch|replace|change|becom|turn|alter|start|begin)/gi,
    needs: ["approv", "review", "trusted", "vetted", "accepted", "list", "audit", "consent", "install"],
  },
  {
    rule: "order-to-model",
    severity: "medium",
    message: "it is listed, and says that it is not to be called",
    shape:
      /\b(?:tool|function|helper|command|utility|it)\b[^.;\n]{0,24}(?: not|n.t| never)(?: needs?| has| have| ought)?(?: to)? be (?:called|invoked|executed|triggered)(?: directly| manually| explicitly)?(?: by (?:the |any |an |end[- ])?(?:users?|humans?|people|you|models?|agents?|assistants?|llms?)| (?:during|in|under) normal [a-z]{1,20})? ?(?=[.;,\n]|$|and |or )/gi,
    needs: ["be called", "be invoked", "be executed", "be triggered"],
  },
  {
    rule: "exfiltration",
    severity: "medium",
    message: "it names an address to which data is sent",
    shape:
      /\b(?:send|forward|let|loop|bcc|cc|copy|notify|report|e?mail|upload|post)(?:s|ing)?\b[^.\n]{0,80} [\w.+-]{1,64}@(?!example|company|domain|yourdomain|gmail|test|acme|corp)[\w-]{1,63}\.[a-z]{2,12}/gi,
    needs: ["@"],
  },
  {
    rule: "hidden-comment",
    severity: "medium",
    message: "it has a comment that is not displayed",
    shape: /<!--|\[\/\/\]: ?#|\[comment\]: ?[<#]/gi,
    needs: ["<!--", "[//]:", "[comment]:"],
  },
  {
    rule: "shell-command",
    severity: "medium",
    message: "it has a command that runs what it fetches, or deletes",
    shape:
      /\b(?:curl|wget)\b[^|\n]{0,200}\| ?(?:sudo )?(?:ba|z|da)?sh\b|\brm -rf? [~/]|\/dev\/tcp\/|\bnc -[a-z]{0,6}e\b|\bbash -i\b|\bchmod \+x\b|\bInvoke-Expression\b|\bIEX ?\(/gi,
    needs: ["curl", "wget", "rm -r", "/dev/tcp", "nc -", "bash -i", "chmod +x", "invoke-exp", "iex"],
  },
];

/** Labels, tags, comments and commands in `text`. */
export function* labelMatches(text: string): Generator<Match> {
  const lower = text.toLowerCase();
  for (const { rule, severity, message, shape, needs } of LABELS) {
    if (!needs.some((word) => lower.includes(word))) continue;
    for (const found of text.matchAll(shape)) {
      const isExample = rule !== "hidden-comment" && isSpokenOf(text, found.index);
      const end = found.index + found[0].length;
      yield { rule, severity: isExample ? "low" : severity, message, start: found.index, end };
    }
  }
}

/** How much of a text (UTF-16 code units) is searched for a word such as `detects`, before what was found. */
const REACH = 90;

/** Whether what stands at `at` is an example, or what a tool looks for. */
function isSpokenOf(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - REACH), at).toLowerCase();
  // What begins a line is said by itself.
  if (/\n[ \t]*$/.test(before)) return false;
  const sentence = before.slice(Math.max(before.lastIndexOf(". "), before.lastIndexOf("\n\n")) + 1);
  return sentence.split(/[^a-z]+/).some(isMention);
}
