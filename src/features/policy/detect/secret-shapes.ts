/** How do secrets look that have a beginning of their own? One line for each kind of token, by who issues it. */
import { hasBase62Checksum, hasHexChecksum } from "./checksums.js";

/** A kind of token. */
export interface SecretShape {
  /** For tests and the table of the docs: `github`. */
  readonly id: string;
  /** Texts with which it begins; each begins with other three characters than those of other shapes, or stands before them. */
  readonly starts: readonly string[];
  /**
   * All of it, from its beginning. Repetitions are bounded, or are of one class of characters none of which may stand
   * before the beginning: so the time is linear.
   */
  readonly shape: RegExp;
  /** Whether the check digits of a match are right. Default: it has none. */
  readonly isValid?: (match: RegExpExecArray) => boolean;
}

/** What must not follow a token. */
const END = "(?![A-Za-z0-9])";
const shape = (pattern: string): RegExp => new RegExp(`${pattern}${END}`, "y");
const kind = (
  id: string,
  starts: readonly string[],
  pattern: string,
  isValid?: SecretShape["isValid"],
): SecretShape => ({ id, starts, shape: shape(pattern), ...(isValid !== undefined && { isValid }) });

const hex = (count: number): string => `[0-9a-fA-F]{${count}}`;
const word = (least: number, most = least): string => `[A-Za-z0-9]{${least},${most}}`;
const url = (least: number, most = least): string => `[A-Za-z0-9_-]{${least},${most}}`;

const bodyIsValid = (match: RegExpExecArray): boolean => hasBase62Checksum(match[1] ?? "");

/** Those with a beginning; key words, private keys and addresses with a password are found apart. */
export const SECRET_SHAPES: readonly SecretShape[] = [
  kind("aws", ["AKIA", "ASIA", "ABIA", "ACCA"], "A[A-Z]{3}[A-Z2-7]{16}"),
  kind("github", ["ghp_", "gho_", "ghu_", "ghr_"], "gh[a-z]_([A-Za-z0-9]{36})", bodyIsValid),
  // Tokens of installations are longer since 2026, and those have no check digits.
  kind("github", ["ghs_"], "ghs_(?:([A-Za-z0-9]{36})|[A-Za-z0-9._-]{37,1024})", (match) =>
    match[1] === undefined ? true : bodyIsValid(match),
  ),
  kind("github", ["github_pat_"], `github_pat_${word(22)}_${word(59)}`),
  kind(
    "gitlab",
    [
      "glpat-",
      "gldt-",
      "glrt-",
      "glrtr-",
      "glptt-",
      "glcbt-",
      "glft-",
      "glsoat-",
      "glimt-",
      "glagent-",
      "gloas-",
      "glffct-",
    ],
    `gl[a-z]{2,5}-${url(20, 300)}(?:\\.[0-9a-z]{2}\\.[0-9a-z]{9}|\\.[0-9a-z]{9})?`,
  ),
  kind(
    "slack",
    ["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxe-", "xoxe.", "xoxc-", "xoxd-"],
    "xox[a-z](?:\\.xox[a-z])?-[A-Za-z0-9%/+=-]{10,512}",
  ),
  kind("slack", ["xapp-"], "xapp-\\d-[A-Za-z0-9-]{20,256}"),
  kind(
    "slack",
    ["hooks.slack.com/"],
    "hooks\\.slack\\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,120}",
  ),
  kind(
    "stripe",
    ["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_org_"],
    `[sr]k_(?:live|test|org)_(?:live_|test_)?${word(16, 247)}`,
  ),
  kind("webhooks", ["whsec_"], "whsec_[A-Za-z0-9+/]{24,128}={0,2}"),
  kind("google", ["AIza"], `AIza${url(35)}(?![_-])`),
  kind("google", ["GOCSPX-"], `GOCSPX-${url(28)}`),
  kind("google", ["ya29."], `ya29\\.${url(20, 2048)}(?:\\.${url(1, 512)})?`),
  kind("anthropic", ["sk-ant-"], `sk-ant-[a-z]{3,8}\\d{2}-${url(32, 256)}`),
  kind("openai", ["sk-proj-", "sk-svcacct-", "sk-admin-"], `sk-[a-z]{4,7}-${url(32, 300)}`),
  kind("openrouter", ["sk-or-v1-"], `sk-or-v1-${hex(64)}`),
  kind("openai", ["sk-"], word(32, 64).replace(/^/, "sk-")),
  kind("npm", ["npm_"], "npm_([A-Za-z0-9]{36})", bodyIsValid),
  kind("pypi", ["pypi-AgE"], `pypi-AgE${url(50, 1024)}`),
  kind("rubygems", ["rubygems_"], `rubygems_${hex(48)}`),
  kind("docker", ["dckr_pat_", "dckr_oat_"], `dckr_[po]at_${url(27, 64)}`),
  kind("huggingface", ["hf_"], "hf_[A-Za-z]{34}"),
  kind("replicate", ["r8_"], `r8_${word(37)}`),
  kind("groq", ["gsk_"], `gsk_${word(52)}`),
  kind("xai", ["xai-"], `xai-${word(80)}`),
  kind("perplexity", ["pplx-"], `pplx-${word(48)}`),
  kind("sendgrid", ["SG."], `SG\\.${url(22)}\\.${url(43)}`),
  kind("twilio", ["SK"], "SK[0-9a-f]{32}"),
  kind("mailgun", ["key-"], "key-[0-9a-f]{32}"),
  kind("digitalocean", ["dop_v1_", "doo_v1_", "dor_v1_"], `do[por]_v1_${hex(64)}`),
  kind("shopify", ["shpat_", "shpca_", "shppa_", "shpss_"], `shp[a-z]{2}_${hex(32)}`),
  kind(
    "discord",
    ["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
    `discord(?:app)?\\.com/api/webhooks/\\d{17,20}/${url(60, 80)}`,
  ),
  kind("linear", ["lin_api_"], `lin_api_${word(40)}`),
  kind("notion", ["ntn_"], `ntn_${word(40, 50)}`),
  kind("figma", ["figd_"], `figd_${url(40, 64)}`),
  kind("databricks", ["dapi"], "dapi[0-9a-f]{32}(?:-\\d)?"),
  kind("vault", ["hvs.", "hvb.", "hvr."], `hv[a-z]\\.${url(24, 300)}`),
  kind("grafana", ["glsa_"], "(glsa_[A-Za-z0-9]{32})_([0-9a-fA-F]{8})", ([, head = "", digits = ""]) =>
    hasHexChecksum(head, digits),
  ),
  kind("postman", ["PMAK-"], `PMAK-${hex(24)}-${hex(34)}`),
  kind("sentry", ["sntrys_", "sntryu_"], "sntry[su]_[A-Za-z0-9+/=_-]{40,300}"),
  kind("supabase", ["sbp_", "sb_secret_"], `sb(?:p_[0-9a-f]{40}|_secret_${url(24, 64)})`),
  kind("atlassian", ["ATATT3x", "ATCTT3x"], `AT[AC]TT3x${url(40, 300)}(?:=[0-9A-F]{8})?`),
  kind(
    "doppler",
    ["dp.pt.", "dp.st.", "dp.ct.", "dp.sa."],
    `dp\\.[a-z]{2}\\.(?:[a-z0-9_-]{2,35}\\.)?${word(40, 44)}`,
  ),
  kind("tailscale", ["tskey-"], `tskey-[a-z]{3,8}-${word(8, 32)}-${word(16, 64)}`),
  kind("age", ["AGE-SECRET-KEY-1"], "AGE-SECRET-KEY-1[A-Z0-9]{58}"),
  kind("azure", ["AccountKey="], "AccountKey=[A-Za-z0-9+/]{86}=="),
];
