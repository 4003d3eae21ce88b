import { Ajv, type ErrorObject } from 'ajv';
import type { ProviderEntry } from './provider-entry.js';

/** The options of a provider can't be used; every problem is named. */
export class ProviderOptionsError extends Error {
  override readonly name = 'ProviderOptionsError';

  constructor(readonly problems: readonly string[]) {
    super(problems.join('; '));
  }
}

/** One option that is wrong: where it stands below `options`, and what is wrong, to follow its name. */
export interface OptionProblem {
  readonly path: readonly string[];
  readonly text: string;
}

/** Time limits of one call, in milliseconds. */
export interface CallTimeouts {
  readonly connect_timeout_ms?: number;
  readonly first_byte_timeout_ms?: number;
  readonly idle_timeout_ms?: number;
  readonly total_timeout_ms?: number;
}

const timeout = { type: 'integer', minimum: 50, maximum: 3_600_000 } as const;

/** Options of every type whose one call lasts as long as the generation. */
export const callTimeouts = {
  connect_timeout_ms: { ...timeout, description: 'Time limit for connecting, in ms.' },
  first_byte_timeout_ms: { ...timeout, description: 'Time limit until the answer begins, in ms.' },
  idle_timeout_ms: { ...timeout, description: 'Longest pause within an answer, in ms.' },
  total_timeout_ms: { ...timeout, description: 'Time limit for the whole call, in ms.' },
} as const;

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });

/** What a type's schema finds wrong with options. */
export function optionProblems(options: unknown, schema: object): OptionProblem[] {
  const matches = ajv.compile(schema);
  return matches(options) ? [] : (matches.errors ?? []).map(problemOf);
}

/** The options of a provider as its type's schema has them. Throws ProviderOptionsError. */
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
