import { AppError } from '#contract/app-error.js';

/** How long files are kept unless their sender says something else, in seconds: 30 days, as at OpenAI. */
export const DEFAULT_KEPT_SECONDS = 2_592_000;
const LEAST_SECONDS = 3_600;

/** The seconds in OpenAI's `{anchor, seconds}`; `param` names it in errors. Throws AppError for anything else. */
export function keptSeconds(sent: unknown, param: string): number {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) {
    throw new AppError('invalid_type', `${param} must be an object with anchor and seconds`, { param });
  }
  const { anchor, seconds } = sent as Readonly<Record<string, unknown>>;
  if (anchor !== 'created_at') {
    throw new AppError('invalid_value', `${param}.anchor must be created_at`, { param: `${param}.anchor` });
  }
  const isWithin = Number.isInteger(seconds) && Number(seconds) >= LEAST_SECONDS;
  if (isWithin && Number(seconds) <= DEFAULT_KEPT_SECONDS) return Number(seconds);
  const text = `${param}.seconds must be an integer from ${LEAST_SECONDS} to ${DEFAULT_KEPT_SECONDS}`;
  throw new AppError('invalid_value', text, { param: `${param}.seconds` });
}
