import { Ajv, type ErrorObject } from 'ajv';
import type { ProviderEntry } from './provider-entry.js';

/** A provider's options are invalid; lists every problem. */
export class ProviderOptionsError extends Error {
  override readonly name = 'ProviderOptionsError';

  constructor(readonly problems: readonly string[]) {
    super(problems.join('; '));
  }
}

/** A problem of an option: its path below `options`, and a text that follows the path. */
export interface OptionProblem {
  readonly path: readonly string[];
  readonly text: string;
}

/** Time limits of a call, in milliseconds. */
export interface CallTimeouts {
  readonly connect_timeout_ms?: number;
  readonly first_byte_timeout_ms?: number;
  readonly idle_timeout_ms?: number;
  readonly total_timeout_ms?: number;
}

const timeout = { type: 'integer', minimum: 50, maximum: 3_600_000 } as const;

/** Options of every type whose calls last as long as the generation. */
export const callTimeouts = {
  connect_timeout_ms: { ...timeout, description: 'Time limit for connecting, in ms.' },
  first_byte_timeout_ms: { ...timeout, description: 'Time limit until the answer begins, in ms.' },
  idle_timeout_ms: { ...timeout, description: 'Longest pause within an answer, in ms.' },
  total_timeout_ms: { ...timeout, description: 'Time limit for the whole call, in ms.' },
} as const;

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });

/** Checks options against a type's schema. */
export function optionProblems(options: unknown, schema: object): OptionProblem[] {
  const matches = ajv.compile(schema);
  if (matches(options)) return [];
  return (matches.errors ?? []).filter(({ keyword }) => keyword !== 'if').map(problemOf);
}

/** Reads a provider's options according to its type's schema. Throws ProviderOptionsError. */
export function readOptions<T>({ options }: ProviderEntry, schema: object): T {
  const problems = optionProblems(options, schema);
  if (problems.length === 0) return options as T;
  throw new ProviderOptionsError(problems.map(({ path, text }) => `${['options', ...path].join('.')} ${text}`));
}

function problemOf({ instancePath, message, params }: ErrorObject): OptionProblem {
  const { additionalProperty, allowedValues } = params as {
    additionalProperty?: string;
    allowedValues?: readonly string[];
  };
  const path = instancePath.split('/').slice(1);
  if (additionalProperty !== undefined) return { path: [...path, additionalProperty], text: 'is not known' };
  return { path, text: `${message ?? 'is wrong'}${allowedValues ? `: ${allowedValues.join(', ')}` : ''}` };
}
