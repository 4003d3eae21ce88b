import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsDefined, IsInt, IsObject, IsOptional, IsString } from 'class-validator';
import { Rule, type FieldProblem } from '#contract/field-rule.js';
import type { ModelChange, ProviderChange } from '#catalog/edit-catalog.js';
import { orInteger } from '../../../common/query-fields.js';
import { NormalizedBy } from '../../../common/contract-fields.js';

const MAX_SECRET = 4_096;

class ProviderKeyBody {
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
  const { name, key, ...rest } = value as Partial<Record<string, unknown>>;
  if (typeof name !== 'string' || Object.keys(rest).length > 0) return false;
  return key === undefined || (typeof key === 'string' && key.length <= MAX_SECRET && /^[\x21-\x7e]+$/.test(key));
}

/** Names the revision that was edited, so that no one overwrites another user's changes. */
export class RevisionBody {
  @ApiProperty({ type: 'integer', description: 'The revision the change is based on.' })
  @IsDefined()
  @IsInt()
  revision!: number;
}

class ProviderChangeBody {
  @ApiProperty({ type: 'object', additionalProperties: true, description: 'As in models.yaml, without keys.' })
  @IsDefined()
  @IsObject()
  entry!: ProviderChange['entry'];

  @ApiPropertyOptional({ type: [ProviderKeyBody], description: 'All keys of the provider; absent = unchanged.' })
  @IsOptional()
  @Rule('areProviderKeys', keysProblem)
  keys?: ProviderKeyBody[];
}

/** The new settings of a provider. */
export class ProviderBody extends ProviderChangeBody {
  @ApiProperty({ type: 'integer', description: 'The revision the change is based on.' })
  @IsDefined()
  @IsInt()
  revision!: number;
}

/** A provider to test before it is saved. */
export class ConnectionBody extends ProviderChangeBody {
  @ApiPropertyOptional({ description: 'Existing provider whose keys are kept; absent = a new provider.' })
  @IsOptional()
  @IsString()
  name?: string;
}

/** The new settings of a model. */
export class ModelBody extends RevisionBody {
  @ApiProperty({ type: 'object', additionalProperties: true, description: 'As in models.yaml.' })
  @IsDefined()
  @IsObject()
  entry!: ModelChange['entry'];
}

/** The query of a deletion, which has no body. */
export class RevisionQuery {
  @ApiProperty({ type: 'integer', description: 'The revision the change is based on.' })
  @NormalizedBy(orInteger)
  @IsDefined()
  @IsInt()
  readonly revision!: number;
}
