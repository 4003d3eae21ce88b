import { IsIn } from 'class-validator';
import { AppError } from '#contract/app-error.js';
import { OneOf } from '#contract/field.js';
import { LABEL_GROUPS, USAGE_GROUPS, type LabelGroup, type UsageGroup } from '#billing/usage.js';
import { IsoTime, QueryText } from '../../../common/query-fields.js';

const DAY_MS = 86_400_000;
/** Maximum and default time range of a query, in days. */
const DAYS = { day: { most: 366, usual: 30 }, hour: { most: 2, usual: 2 } } as const;

/** The query of usage figures. */
export class UsageQuery {
  @IsIn(['day', 'hour'], { message: 'by must be day or hour' })
  readonly by: 'day' | 'hour' = 'day';

  @OneOf([...USAGE_GROUPS, ...LABEL_GROUPS])
  readonly group: UsageGroup | LabelGroup = 'model';

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

  /** Identifier of an end user. */
  @QueryText()
  readonly end_user?: string;

  @QueryText()
  readonly tag?: string;
}

/**
 * The end user or tag that a query is about, or that it groups by; undefined for any other query. Throws AppError
 * `invalid_value` when it has other filters or is by hour: usage by end user and by tag is kept by day alone.
 */
export function labelIn(query: UsageQuery): { readonly kind: LabelGroup; readonly name?: string } | undefined {
  const { end_user: endUser, tag, group } = query;
  const named = [
    ...(endUser === undefined ? [] : [{ kind: 'end_user' as const, name: endUser }]),
    ...(tag === undefined ? [] : [{ kind: 'tag' as const, name: tag }]),
  ];
  const kind = LABEL_GROUPS.find((one) => one === group);
  const [label = kind && { kind }, other] = named;
  if (label === undefined) return undefined;
  const filter = (['model', 'key', 'provider'] as const).find((name) => query[name] !== undefined);
  if (filter !== undefined) throw wrong(filter, `can't be combined with ${label.kind}`);
  if (other !== undefined) throw wrong(other.kind, `can't be combined with ${label.kind}`);
  if (query.by === 'hour') throw wrong('by', `must be day with ${label.kind}`);
  return label;
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
