import type { ZxcvbnFactory } from '@zxcvbn-ts/core';

/** How hard a password is to guess. */
export interface PasswordStrength {
  /** 0 to 4: guessed within 10^3, 10^6, 10^8, or 10^10 attempts, or more. */
  readonly score: number;
  /** Whether the password is accepted. */
  readonly enough: boolean;
  /** Why it is easy to guess, as a sentence; undefined if it is not. */
  readonly weakness?: string;
}

/** Lowest accepted score: more than 10^8 guesses. */
const ENOUGH = 3;
/** Only this many characters are rated, because the time grows faster than the length; they must be strong enough. */
const JUDGED_LENGTH = 40;
/** Spellings such as p4$$word to look up; with the library's default of 100, some passwords take a second. */
const SPELLINGS = 10;

/** By the library's names for what it found. */
const WEAKNESSES: Readonly<Record<string, string>> = {
  straightRow: 'It is a row of keys.',
  keyPattern: 'It follows a pattern on the keyboard.',
  simpleRepeat: 'It repeats a character.',
  extendedRepeat: 'It repeats a few characters.',
  sequences: 'It contains a sequence such as abc or 6543.',
  recentYears: 'It contains a recent year.',
  dates: 'It contains a date.',
  topTen: 'It is one of the most common passwords.',
  topHundred: 'It is one of the most common passwords.',
  common: 'It is a common password.',
  similarToCommon: 'It is similar to a common password.',
  wordByItself: 'It is little more than one word.',
  userInputs: 'It contains your name, your email address or the name of this service.',
};

let loaded: Promise<ZxcvbnFactory> | undefined;

/**
 * Rates a password with lists and patterns, in about 10 ms. `personal` contains what others know about its owner, such
 * as name and email address. The lists are loaded for the first password: 22 MB of memory, 0.1 s.
 */
export async function passwordStrength(password: string, personal: readonly string[]): Promise<PasswordStrength> {
  loaded ??= load();
  const judged = [...password].slice(0, JUDGED_LENGTH).join('');
  const { score, feedback } = (await loaded).check(judged, ['darkroom', ...personal.flatMap(partsOf)]);
  const weakness = WEAKNESSES[feedback.warning ?? ''];
  return { score, enough: score >= ENOUGH, ...(weakness !== undefined && { weakness }) };
}

async function load(): Promise<ZxcvbnFactory> {
  const core = await import('@zxcvbn-ts/core');
  const { adjacencyGraphs, dictionary } = await import('@zxcvbn-ts/language-common');
  const options = { dictionary, graphs: adjacencyGraphs, l33tMaxSubstitutions: SPELLINGS, maxLength: JUDGED_LENGTH };
  return new core.ZxcvbnFactory(options);
}

/** `ada.lovelace@example.org` can be guessed as a whole or by its words. */
function partsOf(text: string): string[] {
  return [text, ...text.split(/[^\p{L}\p{N}]+/u)].filter((part) => part.length > 2);
}
