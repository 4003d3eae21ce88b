import { ApiProperty } from '@nestjs/swagger';
import { IntegerField, TextField } from '#contract/field.js';
import type { FieldProblem } from '#contract/field-rule.js';
import type { FailedTask, FailedTasks } from '#tasks/reading/failed-tasks.js';
import { isTaskId } from '#tasks/row/task-id.js';
import { ListOf, PageOf } from '../../dto/list-views.dto.js';
import { TaskIdsField } from '../../dto/task-ids-field.js';
import type { RetryOutcome } from '../../tasks/retry-failed-tasks.js';

/** Maximum number of failed tasks that one call retries. */
export const MAX_RETRIED = 100;
export const MAX_DAYS = 90;
const MAX_NAME_LENGTH = 200;

class FailureKindBody {
  @ApiProperty({ example: 'upstream_error' })
  code!: string;

  @ApiProperty({ type: String, nullable: true, description: 'The last provider called; null if none was.' })
  provider!: string | null;

  @ApiProperty()
  model!: string;
}

/** A group of failed tasks, how many were retried, and why they can't be. */
export class FailureGroupView extends FailureKindBody {
  @ApiProperty({ description: 'Whether these are provider tests, which are grouped separately and cannot be retried.' })
  provider_test!: boolean;

  @ApiProperty({ type: 'integer' })
  count!: number;

  @ApiProperty({ type: 'integer', description: 'How many have been retried since.' })
  retried!: number;

  @ApiProperty({ format: 'date-time' })
  latest_at!: string;

  @ApiProperty({ type: String, nullable: true, description: 'Why these failures cannot be retried; null if they can.' })
  why_not!: string | null;
}

/** Failures of all accounts, grouped by error code, provider and model; provider tests are grouped separately. */
export class FailureListView extends ListOf(FailureGroupView, 'Groups with the latest failures first; 200 at most.') {
  @ApiProperty({ description: 'Whether there may be older failures: only the newest 5,000 are counted.' })
  has_more!: boolean;
}

class OwnerView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;
}

/** A failed task of any account for operators, without its prompt. */
export class FailedTaskView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ type: OwnerView })
  account!: OwnerView;

  @ApiProperty({ type: OwnerView })
  key!: OwnerView;

  @ApiProperty({ format: 'date-time' })
  failed_at!: string;

  @ApiProperty()
  message!: string;

  @ApiProperty({ type: String, nullable: true, description: 'ID of the retry.' })
  retried_as!: string | null;
}

/** A page of failed tasks; `next` is the cursor of the following page. */
export class FailedTaskPage extends PageOf(FailedTaskView) {}

function nameProblem(value: unknown, property: string): FieldProblem | undefined {
  if (typeof value === 'string' && value.length <= MAX_NAME_LENGTH && !value.includes('\u0000')) return undefined;
  return { code: 'invalid_value', message: `${property} must be a string of at most ${MAX_NAME_LENGTH} characters` };
}

function taskProblem(value: unknown, property: string): FieldProblem | undefined {
  if (typeof value === 'string' && isTaskId(value)) return undefined;
  return { code: 'invalid_value', message: `${property} must be a task ID` };
}

/** Either `tasks`, or a kind of failures. */
export class RetryBody {
  @TaskIdsField({ max: MAX_RETRIED, description: 'IDs of failed tasks.' })
  tasks?: string[] | null;

  @TextField({
    optional: true,
    description: 'With `model` and `days`: retries the newest 100 failures with this code.',
    rule: nameProblem,
  })
  code?: string | null;

  @TextField({
    optional: true,
    nullable: true,
    description: 'Absent or null = no provider was called.',
    rule: nameProblem,
  })
  provider?: string | null;

  @TextField({ optional: true, rule: nameProblem })
  model?: string | null;

  @IntegerField({
    optional: true,
    min: 1,
    max: MAX_DAYS,
    description: 'Number of days to look back; 7 by default.',
    wording: 'library',
  })
  days?: number | null;

  @TextField({ optional: true, description: '`next` of the previous response.', rule: taskProblem })
  after?: string | null;
}

class RetriedView {
  @ApiProperty()
  task_id!: string;

  @ApiProperty()
  new_task_id!: string;
}

class NotRetriedView {
  @ApiProperty()
  task_id!: string;

  @ApiProperty()
  code!: string;

  @ApiProperty()
  message!: string;
}

/** The result for each task to be retried; `next` continues after the batch. */
export class RetryView {
  @ApiProperty({ type: [RetriedView] })
  retried!: RetriedView[];

  @ApiProperty({ type: [NotRetriedView] })
  refused!: NotRetriedView[];

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'When retrying by code: pass it as `after` to retry the remaining failures.',
  })
  next!: string | null;
}

type FailureGroup = Awaited<ReturnType<FailedTasks['groups']>>['groups'][number];

/** `whyNot`: why this kind of failure can't be retried. */
export function groupView({ latestAt, providerTest, ...group }: FailureGroup, whyNot: string | null): FailureGroupView {
  return { ...group, provider_test: providerTest, latest_at: latestAt.toISOString(), why_not: whyNot };
}

/** A failed task as the console's API shows it. */
export function failedTaskView(task: FailedTask): FailedTaskView {
  return {
    id: task.id,
    account: { id: task.accountId, name: task.accountName },
    key: { id: task.keyId, name: task.keyName },
    failed_at: task.finishedAt.toISOString(),
    message: task.message,
    retried_as: task.retriedAs,
  };
}

/** `next`: cursor for the tasks after this batch; null when there are none. */
export function retryView({ retried, refused }: RetryOutcome, next: string | null): RetryView {
  return {
    retried: retried.map(({ id, newId }) => ({ task_id: id, new_task_id: newId })),
    refused: refused.map(({ id, reason }) => ({ task_id: id, code: reason.code, message: reason.message })),
    next,
  };
}
