import { IsIn } from 'class-validator';
import { AppError } from '#contract/app-error.js';
import { OneOf } from '#contract/field.js';
import { USAGE_GROUPS, type UsageGroup } from '#billing/usage.js';
import { IsoTime, QueryText } from '../../../common/query-fields.js';

const DAY_MS = 86_400_000;
/** Maximum and default time range of a query, in days. */
const DAYS = { day: { most: 366, usual: 30 }, hour: { most: 2, usual: 2 } } as const;

/** The query of usage figures. */
export class UsageQuery {
  @IsIn(['day', 'hour'], { message: 'by must be day or hour' })
  readonly by: 'day' | 'hour' = 'day';

  @OneOf(USAGE_GROUPS)
  readonly group: UsageGroup = 'model';

  @IsoTime()
  readonly to?: Date;

  @IsoTime()
  readonly from?: Date;

  @QueryText()
  readonly model?: string;

  /** Name of a key. */
  @QueryText()
  readonly key?: string;

  @QueryText()
  readonly provider?: string;
}

/** The time range of a query. Throws AppError `invalid_value` when it is too long, or empty. */
export function usageSpan({ by, from, to }: UsageQuery, now: Date): { readonly from: Date; readonly to: Date } {
  const end = to ?? now;
  const start = from ?? new Date(end.getTime() - DAYS[by].usual * DAY_MS);
  if (start >= end) throw wrong('from', 'must be before to');
  if (end.getTime() - start.getTime() > DAYS[by].most * DAY_MS) {
    throw wrong('from', `must be at most ${DAYS[by].most} days before to`);
  }
  return { from: start, to: end };
}

function wrong(param: string, what: string): AppError {
  return new AppError('invalid_value', `${param} ${what}`, { param });
}
