import { AppError } from '#contract/app-error.js';

const MAX_TEXT = 200;

/** Throws AppError `unsupported_parameter` when a query has a parameter that is not among `names`. */
export function assertFilters(query: unknown, names: readonly string[]): void {
  if (Object.keys(query as object).every((name) => names.includes(name))) return;
  throw new AppError('unsupported_parameter', 'There is no such filter.', { param: 'query' });
}

/** A parameter of a query, undefined when it is empty. Throws AppError for what is no text of 200 characters. */
export function queryText(query: unknown, name: string): string | undefined {
  const value = (query as Record<string, unknown>)[name];
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw new AppError('invalid_type', `${name} must be a text`, { param: name });
  if (value.length > MAX_TEXT || value.includes('\u0000')) {
    throw new AppError('invalid_value', `${name} must be at most ${MAX_TEXT} characters long`, { param: name });
  }
  return value;
}

/** Like queryText, but one of `choices`. */
export function queryChoice<T extends string>(query: unknown, name: string, choices: readonly T[]): T | undefined {
  const value = queryText(query, name);
  const known = choices.find((choice) => choice === value);
  if (value === undefined || known !== undefined) return known;
  throw new AppError('invalid_value', `${name} must be one of ${choices.join(', ')}`, { param: name });
}
