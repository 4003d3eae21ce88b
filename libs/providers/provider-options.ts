import { Ajv, type ErrorObject } from 'ajv';
import type { ProviderEntry } from './provider-entry.js';

/** The options of a provider can't be used; every problem is named. */
export class ProviderOptionsError extends Error {
  override readonly name = 'ProviderOptionsError';

  constructor(readonly problems: readonly string[]) {
    super(problems.join('; '));
  }
}

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });

/** The options of a provider as its type's schema has them. Throws ProviderOptionsError. */
export function readOptions<T>({ options }: ProviderEntry, schema: object): T {
  const matches = ajv.compile<T>(schema);
  if (matches(options)) return options;
  throw new ProviderOptionsError((matches.errors ?? []).map(problemOf));
}

function problemOf({ instancePath, message, params }: ErrorObject): string {
  const { additionalProperty, allowedValues } = params as {
    additionalProperty?: string;
    allowedValues?: readonly string[];
  };
  const place = ['options', ...instancePath.split('/').slice(1)];
  if (additionalProperty !== undefined) return `${[...place, additionalProperty].join('.')} is not known`;
  return `${place.join('.')} ${message ?? 'is wrong'}${allowedValues ? `: ${allowedValues.join(', ')}` : ''}`;
}
