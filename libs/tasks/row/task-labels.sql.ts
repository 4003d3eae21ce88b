import type { Queryable } from '#database/queryable.js';

/** An end user, or a tag. */
export interface TaskLabel {
  readonly kind: 'end_user' | 'tag';
  readonly name: string;
}

/** The label that a query looks in: of an end user and a tag, the former has fewer tasks. */
export function labelOf({
  endUser,
  tag,
}: {
  readonly endUser?: string | undefined;
  readonly tag?: string | undefined;
}): TaskLabel | undefined {
  if (endUser !== undefined) return { kind: 'end_user', name: endUser };
  return tag === undefined ? undefined : { kind: 'tag', name: tag };
}

/** Which of an account's tasks with a label to read. */
export interface LabeledTasks extends TaskLabel {
  readonly accountId: string;
  readonly since: Date | undefined;
  readonly until: Date | undefined;
  /** Only those behind this place. */
  readonly after: LabeledTask | undefined;
  readonly order: 'newest' | 'oldest';
}

interface LabeledTask {
  readonly id: string;
  readonly createdAt: Date;
}

const labeled = (order: LabeledTasks['order']) => ({
  name: `labeled_tasks_${order}`,
  text: `SELECT task_id AS id, created_at AS "createdAt" FROM task_labels
    WHERE account_id = $1 AND kind = $2 AND name = $3 AND created_at >= $4 AND created_at < $5
      AND (created_at, task_id) ${order === 'newest' ? '<' : '>'} ($6::timestamptz, $7::text)
    ORDER BY created_at ${order === 'newest' ? 'DESC, task_id DESC' : ', task_id'} LIMIT $8`,
});
const LABELED = { newest: labeled('newest'), oldest: labeled('oldest') };

/** Ids of an account's tasks with a label, in order. Raw for the comparison of rows, from which the index starts. */
export async function labeledTasks(
  database: Queryable,
  { accountId, kind, name, since, until, after, order }: LabeledTasks,
  limit: number,
): Promise<LabeledTask[]> {
  const start = order === 'newest' ? 'infinity' : '-infinity';
  const values = [
    ...[accountId, kind, name, since ?? '-infinity', until ?? 'infinity', after?.createdAt ?? start, after?.id ?? ''],
    limit,
  ];
  return (await database.query<LabeledTask>({ ...LABELED[order], values })).rows;
}
