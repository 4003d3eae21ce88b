import { ApiProperty } from '@nestjs/swagger';
import { decimalOf } from '#contract/money.js';
import { DEFAULT_RESPONSE_FORMATS, type DefaultResponseFormat } from '#contract/accepted-values.js';
import { END_USER_MODES, type EndUserMode } from '#accounts/end-users.js';
import {
  KEY_MAKERS,
  KEY_SCOPES,
  KEY_TASKS,
  SUBMIT_MODES,
  type ApiKeyRow,
  type KeyMaker,
  type KeyScope,
  type KeyTasks,
  type SubmitMode,
} from '#accounts/api-keys.js';
import { BudgetView, SpentView } from '../../dto/budget-view.dto.js';
import { ListOf } from '../../dto/list-views.dto.js';

/** The user who created a key. */
export class KeyCreatorView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;
}

/** A key without its secret, which is shown once, when the key is created. */
export class KeyView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty({ description: 'First characters of the key.' })
  prefix!: string;

  @ApiProperty({ type: [String], description: 'Empty: all.' })
  models!: readonly string[];

  @ApiProperty({ type: [String], enum: KEY_SCOPES, description: 'Permissions of the key; empty = all but `approve`.' })
  scopes!: readonly KeyScope[];

  @ApiProperty({
    enum: KEY_TASKS,
    description: 'Tasks that it may see and cancel: `all` that its user may see, or its `own`.',
  })
  tasks!: KeyTasks;

  @ApiProperty({ type: 'integer' })
  weight!: number;

  @ApiProperty({ type: 'integer', nullable: true })
  submits_per_minute!: number | null;

  @ApiProperty({ type: 'integer', nullable: true })
  polls_per_minute!: number | null;

  @ApiProperty({ type: 'integer', nullable: true })
  tasks_in_flight!: number | null;

  @ApiProperty({
    type: String,
    nullable: true,
    enum: DEFAULT_RESPONSE_FORMATS,
    description: 'Null = the account’s default, or else the deployment’s.',
  })
  default_response_format!: DefaultResponseFormat | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Its tasks are deleted so many seconds after their acceptance. Null = as the account has it.',
  })
  keep_seconds!: number | null;

  @ApiProperty({ type: Boolean, nullable: true, description: 'Null = the deployment’s default.' })
  allow_pixel_size!: boolean | null;

  @ApiProperty({ enum: SUBMIT_MODES })
  submit_mode!: SubmitMode;

  @ApiProperty({
    type: String,
    nullable: true,
    example: 'eu',
    description: 'The only region that serves it; null: any.',
  })
  region!: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    example: '0.500000',
    description: 'What a request may cost without an approval; null = what the account says.',
  })
  approve_above!: string | null;
  @ApiProperty({ enum: END_USER_MODES, description: 'What happens to the identifiers of end users.' })
  end_users!: EndUserMode;

  @ApiProperty({ type: [String], description: 'Tags of all its requests.' })
  tags!: readonly string[];

  @ApiProperty({ type: BudgetView, nullable: true })
  budget!: BudgetView | null;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({
    type: KeyCreatorView,
    nullable: true,
    description: 'Null if unknown, or if not created by a user: see `made_by`.',
  })
  created_by!: KeyCreatorView | null;

  @ApiProperty({
    type: String,
    nullable: true,
    enum: KEY_MAKERS,
    description:
      'What created the key if not a user: the first start or a command. Null if created by a user, or unknown.',
  })
  made_by!: KeyMaker | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'ID of the key that replaced this one when it was rotated.',
  })
  replaced_by!: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'What an MCP client calls itself that the user has authorized. The key has no secret then.',
  })
  oauth_client!: string | null;

  @ApiProperty({ type: String, nullable: true, format: 'date-time' })
  expires_at!: string | null;

  @ApiProperty({ type: String, nullable: true, format: 'date-time' })
  revoked_at!: string | null;

  @ApiProperty({ type: String, nullable: true, format: 'date-time', description: 'Up to a minute old.' })
  last_used_at!: string | null;

  @ApiProperty({ type: SpentView })
  spend!: SpentView;

  @ApiProperty({
    type: 'integer',
    description: 'Calls of the last 24 hours that were refused before there was a task.',
  })
  refused_24h!: number;
}

/** Newest first, including ended keys; members see only their own. */
export class KeyListView extends ListOf(KeyView) {}

/** A key for a filter: only its id and name. */
export class KeyNameView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;
}

/** Newest first: all keys of the account, or for a member their own. */
export class KeyNameListView extends ListOf(KeyNameView) {}

/** A new key with its secret, which is never shown again. */
export class NewKeyView {
  @ApiProperty({ type: KeyView })
  key!: KeyView;

  @ApiProperty({ example: 'sk-dr-...', description: 'Shown only once.' })
  secret!: string;
}

/** A key as the console's API shows it. */
export function keyView(row: ApiKeyRow, budget: BudgetView | null, spend: SpentView): Omit<KeyView, 'refused_24h'> {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    models: row.models,
    scopes: row.scopes,
    tasks: row.tasks,
    weight: row.weight,
    submits_per_minute: row.submitsPerMinute,
    polls_per_minute: row.pollsPerMinute,
    tasks_in_flight: row.tasksInFlight,
    default_response_format: row.defaultResponseFormat,
    keep_seconds: row.keepSeconds,
    allow_pixel_size: row.allowPixelSize,
    submit_mode: row.submitMode,
    region: row.region,
    approve_above: row.approveAboveMicros === null ? null : decimalOf(row.approveAboveMicros),
    end_users: row.endUsers,
    tags: row.tags,
    budget,
    created_at: row.createdAt.toISOString(),
    created_by: row.createdBy,
    made_by: row.madeBy,
    replaced_by: row.replacedBy,
    oauth_client: row.oauthClient,
    expires_at: row.expiresAt?.toISOString() ?? null,
    revoked_at: row.revokedAt?.toISOString() ?? null,
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
    spend,
  };
}
