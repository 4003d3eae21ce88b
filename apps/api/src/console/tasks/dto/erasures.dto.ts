import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ChoiceField, Field, FlagField, TextField } from '#contract/field.js';
import { TaskReceipt } from '#contract/task-receipt.js';
import type { FieldProblem } from '#contract/field-rule.js';
import { TASK_STATUSES, type TaskStatus } from '#tasks/row/task-status.js';
import { ListOf } from '../../dto/list-views.dto.js';

function timeProblem(value: unknown, property: string): FieldProblem | undefined {
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value)))
    return undefined;
  return { code: 'invalid_value', message: `${property} must be a time in ISO 8601 format` };
}

/** Which tasks to delete: those that match all of it. */
export class ErasureBody {
  @ChoiceField(TASK_STATUSES, { optional: true })
  status?: TaskStatus | null;

  @TextField({ optional: true, notEmpty: true, description: 'Identifier of the end user, as tasks show it.' })
  end_user?: string | null;

  @TextField({ optional: true, notEmpty: true })
  tag?: string | null;

  @Field(String, {
    optional: true,
    schema: { format: 'date-time' },
    rule: timeProblem,
    description: 'Only tasks accepted before this time.',
  })
  before?: string | null;

  @FlagField({
    optional: true,
    description: 'All tasks of the account, without a filter: only for owners, with its name.',
  })
  all?: boolean | null;

  @TextField({ optional: true, description: 'With `all`: exact name of the account, as confirmation.' })
  name?: string | null;
}

/** What a deletion matches; a field that is absent matches anything. */
class ErasureFilterView {
  @ApiPropertyOptional({ enum: TASK_STATUSES })
  status?: TaskStatus;

  @ApiPropertyOptional()
  end_user?: string;

  @ApiPropertyOptional()
  tag?: string;

  @ApiProperty({ format: 'date-time', description: 'Only tasks accepted before this time.' })
  before!: string;
}

/** A deletion of all tasks that match. */
export class ErasureView {
  @ApiProperty()
  id!: string;

  @ApiProperty({
    enum: ['in_progress', 'completed'],
    description: '`completed` when all matching tasks are deleted and the last of their contents is gone.',
  })
  status!: 'in_progress' | 'completed';

  @ApiProperty({ type: 'integer', description: 'Number of tasks deleted so far.' })
  deleted!: number;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ type: ErasureFilterView })
  filter!: ErasureFilterView;
}

/** The latest deletions of the account by a filter, or of those tasks that a member sees; newest first. */
export class ErasureListView extends ListOf(ErasureView) {}

/** The proof that a deleted task is gone. */
export class TaskReceiptView {
  @ApiProperty({ type: TaskReceipt, nullable: true, description: 'Null until the last of its contents is gone.' })
  receipt!: TaskReceipt | null;
}
