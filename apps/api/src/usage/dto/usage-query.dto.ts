import { AppError } from '#contract/app-error.js';
import { OneOf } from '#contract/field.js';
import { USAGE_GROUPINGS, type UsageGrouping } from '#contract/usage-view.js';
import { QueryText } from '../../common/query-fields.js';
import { UnixSecond } from '../../tasks/dto/list-query.dto.js';

const DAY_MS = 86_400_000;
const MOST_DAYS = 366;
const USUAL_DAYS = 30;

/** The query of GET /v1/usage. */
export class UsageQuery {
  @OneOf(USAGE_GROUPINGS)
  readonly group_by: UsageGrouping = 'model';

  @UnixSecond()
  readonly start?: Date;

  @UnixSecond()
  readonly end?: Date;

  /** Only this end user. */
  @QueryText()
  readonly end_user?: string;

  /** Only this tag. */
  @QueryText()
  readonly tag?: string;
}

/** The time that a query is about. Throws AppError `invalid_value` when it is too long, or empty. */
export function usageTime({ start, end }: UsageQuery, now: Date): { readonly from: Date; readonly to: Date } {
  const to = end ?? now;
  const from = start ?? new Date(to.getTime() - USUAL_DAYS * DAY_MS);
  if (from >= to) throw wrong('start', 'must be before end');
  if (to.getTime() - from.getTime() > MOST_DAYS * DAY_MS) {
    throw wrong('start', `must be at most ${MOST_DAYS} days before end`);
  }
  return { from, to };
}

/**
 * What usage is grouped by: an end user or tag that is asked for, or else `group_by`. Throws AppError `invalid_value` for an
 * end user or tag together with another group.
 */
export function usageLabel({ group_by: group, end_user: endUser, tag }: UsageQuery): {
  readonly group: UsageGrouping;
  readonly name: string | undefined;
} {
  if (endUser === undefined && tag === undefined) return { group, name: undefined };
  if (endUser !== undefined && tag !== undefined) throw wrong('tag', "can't be combined with end_user");
  const kind = endUser === undefined ? 'tag' : 'end_user';
  // Nobody asked for the default.
  if (group !== kind && group !== 'model') throw wrong('group_by', `must be ${kind} with ${kind}`);
  return { group: kind, name: endUser ?? tag ?? '' };
}

function wrong(param: string, what: string): AppError {
  return new AppError('invalid_value', `${param} ${what}`, { param });
}
