import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Field, IntegerField, ObjectField, TextField } from '#contract/field.js';
import type { FieldProblem } from '#contract/field-rule.js';
import type { ModelChange, ProviderChange } from '#catalog/edit-catalog.js';
import { orInteger } from '../../../common/query-fields.js';
import { NormalizedBy } from '../../../common/contract-fields.js';

const MAX_SECRET = 4_096;

class ProviderKeyBody {
  @ApiPropertyOptional({ description: 'The server that it is for, if the provider has a list of servers.' })
  server?: string;

  @ApiProperty({ description: 'Name shown in logs and timelines.' })
  name!: string;

  @ApiPropertyOptional({ description: 'The API key; absent = unchanged.' })
  key?: string;
}

function keysProblem(value: unknown, property: string): FieldProblem | undefined {
  if (!Array.isArray(value)) return { code: 'invalid_type', message: `${property} must be an array` };
  const at = value.findIndex((key) => !isKey(key));
  if (at === -1) return undefined;
  const message = `${property} must each have a name, and a key without spaces if one is given`;
  return { code: 'invalid_value', message, at: `[${at}]` };
}

function isKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { server = '', name, key, ...rest } = value as Partial<Record<string, unknown>>;
  if (typeof server !== 'string' || typeof name !== 'string' || Object.keys(rest).length > 0) return false;
  return key === undefined || (typeof key === 'string' && key.length <= MAX_SECRET && /^[\x21-\x7e]+$/.test(key));
}

const RevisionField = () => IntegerField({ description: 'The revision the change is based on.' });

/** Names the revision that was edited, so that no one overwrites another user's changes. */
export class RevisionBody {
  @RevisionField()
  revision!: number;
}

class ProviderChangeBody {
  @ObjectField({ description: 'As in models.yaml, without keys.' })
  entry!: ProviderChange['entry'];

  @Field([ProviderKeyBody], {
    optional: true,
    description: 'All keys of the provider; absent = unchanged.',
    rule: keysProblem,
  })
  keys?: ProviderKeyBody[];

  @TextField({
    optional: true,
    nullable: true,
    maxLength: MAX_SECRET,
    description: 'Signing secret of its webhooks about end users; null removes it, absent = unchanged.',
  })
  webhook_secret?: string | null;
}

/** The new settings of a provider. */
export class ProviderBody extends ProviderChangeBody {
  @RevisionField()
  revision!: number;
}

/** A provider to test before it is saved. */
export class ConnectionBody extends ProviderChangeBody {
  @TextField({ optional: true, description: 'Existing provider whose keys are kept; absent = a new provider.' })
  name?: string;
}

/** The new settings of a model. */
export class ModelBody extends RevisionBody {
  @ObjectField({ description: 'As in models.yaml.' })
  entry!: ModelChange['entry'];
}

/** The query of a deletion, which has no body. */
export class RevisionQuery {
  @NormalizedBy(orInteger)
  @RevisionField()
  readonly revision!: number;
}
