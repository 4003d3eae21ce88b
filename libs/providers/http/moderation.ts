import type { ErrorWords } from './error-body.js';

/** Statuses that never mean a blocked prompt: they are about the key, the address, the rate, or the server. */
const OTHER_MEANING: ReadonlySet<number> = new Set([401, 402, 404, 405, 407, 408, 409, 421, 425, 426, 429]);

/**
 * Codes, types and reasons of vendors that block a prompt or an image, in lower case and without separators: OpenAI
 * and Azure (`content_policy_violation`, `content_filter`, `ResponsibleAIPolicyViolation`), Volcengine
 * (`OutputImageSensitiveContentDetected`), DashScope (`DataInspectionFailed`), Google (`PROHIBITED_CONTENT`), Tencent
 * (`TextIllegalDetected`), new-api (`sensitive_words_detected`), Zhipu and Kling (1301), MiniMax (1026, 1027), ...
 */
const CODES =
  /moderat|content(polic|filter|safety|security|violation|blocked)|policyviolation|safety|sensitive|inspection|prohibited|nsfw|responsibleai|(prompt|image|input)(block|reject)|block(ed)?(prompt|content|list)|unsafe|illegal(detected|content)|inappropriate|riskcontrol|guardrail|censor|recitation|^(spii|1301|1026|1027)$/;
/** Codes about a field of that name. */
const ABOUT_FIELD = /^(invalid|unknown|unsupported|unrecognized|missing)|checker|tolerance|setting|casesensitive/;
/** The same codes within a text, for example of a gateway that quotes its provider. */
const QUOTED_CODES =
  /content_?policy_?violation|\bcontent_filter\b|ContentFilter|moderation_blocked|data_?inspection_?failed|Responsible ?AI ?Policy|SensitiveContentDetected|sensitive_words_detected|image_generation_user_error|PROHIBITED_CONTENT|(IMAGE|PROMPT)_SAFETY|safety_violations?=/i;
const PHRASES = [
  /content (?:(?:management|safety|usage|security) )?(?:polic|filter|moderat|restriction|guideline|violation)/,
  /safety (?:system|filter|guideline|polic|reason|check|classifier|violation|concern|standard|block)/,
  /\b(?:by|in|failed|violat\w+|pass) (?:(?:our|the|content|prompt|image|input|safety|text) )*moderation\b/,
  /moderation (?:system|filter|fail|block|polic|flag|reject|check|violation)|\b(?:request|content|prompt|image|input|output) moderated\b/,
  /\b(?:was|were|been|is|got|are) (?:\w+ )?flagged\b|\bflagged (?:as|by|for)\b/,
  /\bnsfw\b|\bporn|responsible ai|data inspection/,
  /violat\w+ .{0,80}(?:polic|guideline|terms|rules|standard)/,
  /(?:usage|acceptable use|community|content) (?:polic|guideline|standard)/,
  /(?:sensitive|inappropriate|prohibited|unsafe|harmful|illegal|explicit|offensive|disallowed|objectionable|forbidden|banned|adult|violent|blocked) (?:content|information|material|words?|terms?|text|images?|prompts?|inputs?)\b/,
  /(?:prompt|content|input|request|image) (?:was|is|has been|were) (?:blocked|filtered|deemed unsafe|considered unsafe)/,
  /敏感|违规|不安全|内容安全|审核(?:未|不|失败)|安全审核|色情|违禁|风控|不合规|违反/,
];
/** A refusal of the key or its owner, whatever for. */
const ABOUT_ACCOUNT = /\b(?:account|organi[sz]ation|api.?key|credential|subscription|team|tenant|user is locked)\b/i;

/**
 * Whether an error body with this status says that the vendor's moderation blocked the prompt or an image. The words
 * are searched where vendors put codes and messages; quoted names, and names of fields, do not count.
 */
export function isModeration(status: number, { names, texts, isFiltered }: ErrorWords): boolean {
  const isPossible = status < 300 || (status >= 400 && status < 500);
  if (!isPossible || OTHER_MEANING.has(status)) return false;
  if (isFiltered || names.some(isModerationCode)) return true;
  const isDenial = status === 403;
  return texts.some((text) => {
    if (isDenial && ABOUT_ACCOUNT.test(text)) return false;
    if (QUOTED_CODES.test(text)) return true;
    const plain = text
      .replace(/(["'`])[\w.[\]-]{1,60}\1/g, ' ')
      .replace(/\b\w*_\w+\b|case[- ]sensitive/gi, ' ')
      .toLowerCase();
    return PHRASES.some((phrase) => phrase.test(plain));
  });
}

/** Whether a code, type or reason of a vendor means that its moderation blocked something. */
export function isModerationCode(name: string): boolean {
  const word = name.toLowerCase().replace(/[^a-z0-9]/g, '');
  return CODES.test(word) && !ABOUT_FIELD.test(word);
}
