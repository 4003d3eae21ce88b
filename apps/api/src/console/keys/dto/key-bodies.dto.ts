import { ChoiceField, ChoicesField, Field, FlagField, IntegerField, ListField } from '#contract/field.js';
import type { FieldProblem } from '#contract/field-rule.js';
import { MAX_KEPT_SECONDS, MIN_KEPT_SECONDS } from '#contract/kept-seconds.js';
import { microsOf } from '#contract/money.js';
import { REGION_NAME } from '#contract/region.js';
import { DEFAULT_RESPONSE_FORMATS, type DefaultResponseFormat } from '#contract/accepted-values.js';
import { END_USER_MODES, type EndUserMode } from '#accounts/end-users.js';
import { distinctTags, MAX_TAGS, tagsProblem } from '#contract/labels.js';
import {
  KEY_SCOPES,
  KEY_TASKS,
  SUBMIT_MODES,
  type ApiKeyRow,
  type ApiKeySettings,
  type KeyScope,
  type KeyTasks,
  type SubmitMode,
} from '#accounts/api-keys.js';
import { ApproveAboveField, BudgetBody } from '../../dto/budget-body.dto.js';
import { LimitField, WeightField } from '../../dto/limit-body.dto.js';
import { NameField } from '../../dto/name-body.dto.js';

const MAX_MODELS = 100;
const MAX_OVERLAP_HOURS = 720;

function modelsProblem(value: unknown, property: string): FieldProblem | undefined {
  if (!Array.isArray(value)) return undefined;
  if (value.length > MAX_MODELS) {
    return { code: 'array_above_max_length', message: `${property} must have at most ${MAX_MODELS} entries` };
  }
  const at = value.findIndex((name) => typeof name !== 'string');
  return at === -1 ? undefined : { code: 'invalid_type', message: `${property} must be model names`, at: `[${at}]` };
}

function laterProblem(value: unknown, property: string): FieldProblem | undefined {
  const time = typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : NaN;
  if (time > Date.now() && time < Date.parse('2200-01-01')) return undefined;
  return { code: 'invalid_value', message: `${property} must be a time in the future, in ISO 8601 format` };
}

function regionProblem(value: unknown, property: string): FieldProblem | undefined {
  if (typeof value === 'string' && new RegExp(REGION_NAME).test(value)) return undefined;
  const form = 'up to 32 lowercase letters, digits and -, and begin with a letter or digit';
  return { code: 'invalid_value', message: `${property} must be ${form}` };
}

/** Settings of a key besides its name. */
class KeySettingsBody extends BudgetBody {
  @ListField(String, { optional: true, description: 'Empty: all.', rule: modelsProblem })
  models?: string[] | null;

  @ChoicesField(KEY_SCOPES, { optional: true, description: 'Empty: everything but `approve`.' })
  scopes?: KeyScope[] | null;

  @ChoiceField(KEY_TASKS, {
    optional: true,
    description: 'Tasks that it may see and cancel: `all` that its user may see, or its `own`.',
  })
  tasks?: KeyTasks | null;

  @WeightField()
  weight?: number | null;

  @LimitField()
  submits_per_minute?: number | null;

  @LimitField()
  polls_per_minute?: number | null;

  @LimitField()
  tasks_in_flight?: number | null;

  @ApproveAboveField()
  approve_above?: string | null;

  @Field(String, { optional: true, nullable: true, schema: { format: 'date-time' }, rule: laterProblem })
  expires_at?: string | null;

  @ChoiceField(DEFAULT_RESPONSE_FORMATS, { optional: true, nullable: true })
  default_response_format?: DefaultResponseFormat | null;

  @IntegerField({
    optional: true,
    nullable: true,
    min: MIN_KEPT_SECONDS,
    max: MAX_KEPT_SECONDS,
    description: 'Its tasks are deleted so many seconds after their acceptance; null: as the account has it.',
  })
  keep_seconds?: number | null;

  @FlagField({ optional: true, nullable: true })
  allow_pixel_size?: boolean | null;

  @ChoiceField(SUBMIT_MODES, { optional: true })
  submit_mode?: SubmitMode | null;

  @Field(String, {
    optional: true,
    nullable: true,
    schema: { pattern: REGION_NAME },
    rule: regionProblem,
    description: 'Only servers of this region serve its requests; null: any.',
  })
  region?: string | null;

  @ChoiceField(END_USER_MODES, {
    optional: true,
    description:
      'What happens to the identifiers of end users: `off`, passed on as they are; `forward`, also recorded; ' +
      '`derive`, replaced by a digest, or one of the key; `require`, the same, and refused without.',
  })
  end_users?: EndUserMode | null;

  @ListField(String, {
    optional: true,
    schema: { maxItems: MAX_TAGS },
    rule: tagsProblem,
    description: 'Tags of all its requests.',
  })
  tags?: string[] | null;
}

/**
 * Absent = unchanged. Null resets a setting to its default, and removes the budget or the expiry; a name that is null
 * stays unchanged.
 */
export class KeyChangeBody extends KeySettingsBody {
  @NameField({ optional: true })
  name?: string | null;
}

/** A new key: its name and settings. */
export class NewKeyBody extends KeySettingsBody {
  @NameField()
  name!: string;
}

/** How long the old secret keeps working beside the new one, in hours. */
export class RotateKeyBody {
  @IntegerField({ min: 0, max: MAX_OVERLAP_HOURS, wording: 'library' })
  overlap_hours!: number;
}

/** The settings that a body changes; null resets one to its default. */
export function keySettings(body: KeyChangeBody | NewKeyBody): Partial<ApiKeySettings & Pick<ApiKeyRow, 'name'>> {
  const { name, models, scopes, weight, expires_at: expires } = body;
  const given = {
    name: name ?? undefined,
    models: models === null ? [] : models,
    scopes: scopes === null ? [] : scopes && KEY_SCOPES.filter((scope) => scopes.includes(scope)),
    weight: weight === null ? 1 : weight,
    submitsPerMinute: body.submits_per_minute,
    pollsPerMinute: body.polls_per_minute,
    tasksInFlight: body.tasks_in_flight,
    expiresAt: typeof expires === 'string' ? new Date(expires) : expires,
    defaultResponseFormat: body.default_response_format,
    keepSeconds: body.keep_seconds,
    allowPixelSize: body.allow_pixel_size,
    tasks: body.tasks === null ? 'all' : body.tasks,
    submitMode: body.submit_mode === null ? 'sync' : body.submit_mode,
    region: body.region,
    approveAboveMicros: typeof body.approve_above === 'string' ? microsOf(body.approve_above) : body.approve_above,
    endUsers: body.end_users === null ? 'off' : body.end_users,
    tags: body.tags === null ? [] : body.tags && distinctTags(body.tags),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
