const FAULTS = [
  'http-429',
  'http-500',
  'http-503',
  'hang',
  'empty',
  'not-an-image',
  'moderation',
  'crash-after-accept',
  'wrong-size',
  'huge',
] as const;
export type Fault = (typeof FAULTS)[number];

/** Instructions to the sandbox, in the double square brackets of a prompt. */
export interface Directives {
  /** The prompt without directives. */
  readonly prompt: string;
  /** Minimum time to draw, in milliseconds. */
  readonly latency: number;
  /** Milliseconds until the result of a job that is accepted at once and then polled; 0 = no job. */
  readonly pending: number;
  readonly fault: Fault | undefined;
  /** Number of a task's first starts that have the fault. */
  readonly faultTimes: number;
  /** Directives that were not understood. */
  readonly unknown: readonly string[];
}

const DIRECTIVE = /\[\[([^[\]]{0,200})\]\]/gu;
/** In milliseconds; longer than any task may live. */
const MAX_LATENCY = 3_600_000;

/** Extracts the directives from a prompt. Never throws; `unknown` lists those that were not understood. */
export function readDirectives(text: string): Directives {
  const unknown: string[] = [];
  let latency = 0;
  let pending = 0;
  let fault: Fault | undefined;
  let faultTimes = Infinity;
  const prompt = text.replace(DIRECTIVE, (_, content: string) => {
    const words = content.trim().split(/\s+/u);
    const settings = new Map(words.map((word) => splitOnce(word)));
    const wait = milliseconds(settings.get('latency'));
    const kind = FAULTS.find((name) => name === settings.get('fault'));
    const work = milliseconds(settings.get('pending'));
    if (wait !== undefined) latency = wait;
    if (work !== undefined) pending = work;
    if (kind !== undefined) {
      fault = kind;
      faultTimes = positiveInteger(settings.get('times')) ?? Infinity;
    }
    if (wait === undefined && work === undefined && kind === undefined) unknown.push(content.trim());
    return ' ';
  });
  return { prompt: prompt.replace(/\s+/gu, ' ').trim(), latency, pending, fault, faultTimes, unknown };
}

function splitOnce(word: string): [string, string] {
  const at = word.indexOf('=');
  return at === -1 ? [word.toLowerCase(), ''] : [word.slice(0, at).toLowerCase(), word.slice(at + 1).toLowerCase()];
}

function milliseconds(text: string | undefined): number | undefined {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s)$/u.exec(text ?? '');
  if (match === null) return undefined;
  return Math.min(MAX_LATENCY, Number(match[1]) * (match[2] === 's' ? 1000 : 1));
}

function positiveInteger(text: string | undefined): number | undefined {
  return /^[1-9]\d{0,5}$/u.test(text ?? '') ? Number(text) : undefined;
}
