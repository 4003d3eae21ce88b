import { IsIn, IsOptional } from 'class-validator';
import { Rule, type FieldProblem } from '#contract/field-rule.js';
import { NormalizedBy } from '../../common/contract-fields.js';
import { orAbsent } from '../../common/query-fields.js';

/** The longest wait that a poll can request, in seconds. */
export const MAX_WAIT_SECONDS = 60;

function orSeconds(value: unknown): unknown {
  return typeof value === 'string' && /^\d{1,2}$/.test(value) ? Number(value) : orAbsent(value);
}

function waitProblem(value: unknown, name: string): FieldProblem | undefined {
  if (typeof value === 'number' && value >= 1 && value <= MAX_WAIT_SECONDS) return undefined;
  return {
    code: 'invalid_value',
    message: `${name} must be a whole number of seconds from 1 to ${MAX_WAIT_SECONDS}`,
  };
}

/** The query of GET /v1/tasks/{id}. */
export class PollQuery {
  /** How long the poll may wait, in seconds; not at all by default. */
  @NormalizedBy(orSeconds)
  @IsOptional()
  @Rule(waitProblem)
  readonly wait?: number;

  @NormalizedBy(orAbsent)
  @IsOptional()
  @IsIn(['timeline'], { message: 'include must be timeline' })
  readonly include?: 'timeline';
}
