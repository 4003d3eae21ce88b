import { JSON_PATH_MISSING } from '#database/prisma-values.js';

/** Stands for the code of a failure that has none. */
export const NO_CODE = 'internal_error';

/** The condition for failed tasks with an error code. */
export function failedWith(code: string) {
  const ofCode = { error: { path: ['code'], equals: code } };
  const any = code === NO_CODE ? [ofCode, { error: { path: ['code'], equals: JSON_PATH_MISSING } }] : [ofCode];
  return { status: 'failed', OR: any };
}
