import { ApiProperty } from '@nestjs/swagger';
import { AUDIT_ACTIONS, auditSentence, type AuditAction } from '#accounts/audit-actions.js';
import type { AuditEntry } from '#accounts/audit-log.js';
import { PageOf } from '../../dto/list-views.dto.js';

class AuditPersonView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty()
  email!: string;
}

/** An action in the console or by an operator's command: who, what, and a description. */
export class AuditEntryView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ type: AuditPersonView, nullable: true, description: 'Null if it was not a member of the account.' })
  person!: AuditPersonView | null;

  @ApiProperty({ example: 'Ada', description: 'Subject of `sentence`.' })
  who!: string;

  @ApiProperty({
    example: 'revoked the key “mobile app”',
    description: 'What was done, with the names used at that time.',
  })
  sentence!: string;

  @ApiProperty({ examples: Object.keys(AUDIT_ACTIONS), description: 'Other versions of the service may add others.' })
  action!: string;

  @ApiProperty({ type: String, nullable: true, description: 'ID or name of the object.' })
  target!: string | null;

  @ApiProperty({ description: 'Whether the object still exists in the account.' })
  target_exists!: boolean;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'Further details, depending on the action; never secrets.',
  })
  details!: Readonly<Record<string, unknown>>;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;
}

/** A page of the audit log, newest first. */
export class AuditPageView extends PageOf(AuditEntryView, 'Newest first.') {
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'How far back a search got before it stopped early; null otherwise.',
  })
  searched_until!: string | null;
}

/** `targetExists`: whether the console can still link to the target. */
export function auditEntryView(entry: AuditEntry, targetExists: boolean): AuditEntryView {
  const { id, person, action, target, details, createdAt } = entry;
  return {
    id,
    person,
    who: whoOf(entry),
    sentence: auditSentence(action, target, details),
    action,
    target,
    target_exists: targetExists,
    details,
    created_at: createdAt.toISOString(),
  };
}

/** Actions of users who are not signed in yet. */
const BY_ANYBODY: ReadonlySet<string> = new Set<AuditAction>([
  'person.sign_in_failed',
  'person.code_failed',
  'person.passkey_refused',
  'person.forgot_password',
]);

/** The actor's display name; a failed sign-in may come from anyone. */
export function whoOf({ person, action, details }: AuditEntry): string {
  if (person !== null) return person.name;
  if (details['via'] === 'command') return 'A command on the server';
  return BY_ANYBODY.has(action) ? 'Someone' : 'An operator of this service';
}
