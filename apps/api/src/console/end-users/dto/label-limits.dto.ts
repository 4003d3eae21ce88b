import { ApiProperty } from '@nestjs/swagger';
import { IsArray } from 'class-validator';
import { LABEL_KINDS, type LabelKind, type LabelLimit } from '#billing/label-limits.js';
import { Field } from '#contract/field.js';
import type { FieldProblem } from '#contract/field-rule.js';
import { isEndUserIdentifier, isTag } from '#contract/labels.js';
import { decimalOf, microsOf } from '#contract/money.js';

/** All of them are read for requests with an end user or tags, and looked through for each. */
const MAX_LIMITS = 100;
const MAX_REQUESTS = 1_000_000_000;
/** When a label is at its limit, all its tasks are looked through. */
const MAX_IN_FLIGHT = 1_000;
const MAX_WEIGHT = 100;

/** What an end user or a tag is limited to. */
export class LabelLimitView {
  @ApiProperty({ enum: LABEL_KINDS })
  kind!: LabelKind;

  @ApiProperty({
    type: String,
    nullable: true,
    example: 'newsletter',
    description: 'The end user as recorded, or the tag; null = each one that is not named.',
  })
  name!: string | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    minimum: 1,
    maximum: MAX_REQUESTS,
    description: 'Images and chats together; null = any number.',
  })
  requests_per_minute!: number | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    minimum: 1,
    maximum: MAX_IN_FLIGHT,
    description: 'Null = any number.',
  })
  tasks_in_flight!: number | null;

  @ApiProperty({
    type: String,
    nullable: true,
    example: '5.000000',
    description: 'For each calendar month (UTC), in the currency of the price book; null = any amount.',
  })
  monthly_budget!: string | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    minimum: 1,
    maximum: MAX_WEIGHT,
    description:
      'Takes turns in the queue as a key of this weight; null = its requests take the turns of their keys. The end user’s counts before those of tags.',
  })
  weight!: number | null;
}

const FORM =
  '{"kind": "end_user" or "tag", "name": "..." or null, "requests_per_minute": 1 or more, "tasks_in_flight": 1 to 1000, "monthly_budget": "5.00", "weight": 1 to 100}, each of the last four or null';

function limitsProblem(value: unknown, property: string): FieldProblem | undefined {
  if (!Array.isArray(value)) return undefined;
  if (value.length > MAX_LIMITS) {
    return { code: 'array_above_max_length', message: `${property} must have at most ${MAX_LIMITS} entries` };
  }
  const entries = value as readonly unknown[];
  const at = entries.findIndex((entry) => !isLimit(entry));
  if (at !== -1) {
    return { code: 'invalid_value', message: `${property} must be a list of ${FORM}`, at: `[${at}]` };
  }
  const names = (entries as readonly LabelLimitView[]).map((entry) => `${entry.kind} ${nameOf(entry)}`);
  const again = names.findIndex((name, index) => names.indexOf(name) < index);
  if (again === -1) return undefined;
  return { code: 'invalid_value', message: `${property} must name each end user and each tag once`, at: `[${again}]` };
}

function isLimit(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null) return false;
  const { kind, name, requests_per_minute, tasks_in_flight, monthly_budget, weight, ...others } = entry as Readonly<
    Record<string, unknown>
  >;
  if (Object.keys(others).length > 0 || (kind !== 'end_user' && kind !== 'tag')) return false;
  if (!isNameOf(kind, name)) return false;
  if (!isCount(requests_per_minute, MAX_REQUESTS) || !isCount(tasks_in_flight, MAX_IN_FLIGHT)) return false;
  if (!isCount(weight, MAX_WEIGHT)) return false;
  return isAbsent(monthly_budget) || (typeof monthly_budget === 'string' && microsOf(monthly_budget) !== undefined);
}

function isNameOf(kind: LabelKind, name: unknown): boolean {
  if (isAbsent(name)) return true;
  if (typeof name !== 'string') return false;
  return kind === 'tag' ? isTag(name.trim()) : isEndUserIdentifier(name.trim());
}

function isCount(value: unknown, max: number): boolean {
  return isAbsent(value) || (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= max);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function nameOf({ name }: Pick<LabelLimitView, 'name'>): string {
  return name?.trim() ?? '';
}

/** All limits of an account; an empty list removes them. */
export class LabelLimitsBody {
  @Field(
    [LabelLimitView],
    { schema: { maxItems: MAX_LIMITS }, rule: limitsProblem, description: 'Replaces all of them.' },
    IsArray(),
  )
  limits!: LabelLimitView[];
}

/** The limits, with no name for each end user or tag. */
export function labelLimits({ limits }: LabelLimitsBody): LabelLimit[] {
  return limits.map((limit) => ({
    kind: limit.kind,
    name: nameOf(limit),
    requestsPerMinute: limit.requests_per_minute ?? null,
    tasksInFlight: limit.tasks_in_flight ?? null,
    weight: limit.weight ?? null,
    monthlyBudget: typeof limit.monthly_budget === 'string' ? (microsOf(limit.monthly_budget) ?? null) : null,
  }));
}

/** A limit as the console shows it. */
export function labelLimitView({ kind, name, ...limit }: LabelLimit): LabelLimitView {
  return {
    kind,
    name: name === '' ? null : name,
    requests_per_minute: limit.requestsPerMinute,
    tasks_in_flight: limit.tasksInFlight,
    weight: limit.weight,
    monthly_budget: limit.monthlyBudget === null ? null : decimalOf(limit.monthlyBudget),
  };
}
