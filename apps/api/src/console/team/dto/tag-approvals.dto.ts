import { ApiProperty } from '@nestjs/swagger';
import { IsArray } from 'class-validator';
import { Field } from '#contract/field.js';
import type { FieldProblem } from '#contract/field-rule.js';
import { isTag } from '#contract/labels.js';
import { decimalOf, microsOf } from '#contract/money.js';

/** All of them are read with each key, and compared with each request. */
const MAX_TAG_APPROVALS = 50;

/** What a request with a tag may cost without an approval. */
export class TagApproval {
  @ApiProperty({ example: 'video' })
  tag!: string;

  @ApiProperty({
    example: '0.500000',
    description: 'An amount in the currency of the price book; 0 = every paid request.',
  })
  above!: string;
}

function tagApprovalsProblem(value: unknown, property: string): FieldProblem | undefined {
  if (!Array.isArray(value)) return undefined;
  if (value.length > MAX_TAG_APPROVALS) {
    return { code: 'array_above_max_length', message: `${property} must have at most ${MAX_TAG_APPROVALS} entries` };
  }
  const entries = value as readonly unknown[];
  const at = entries.findIndex((entry) => !isTagApproval(entry));
  if (at !== -1) {
    const form = '{"tag": "...", "above": "0.50"}, with a tag of 1 to 64 printable characters without commas';
    return { code: 'invalid_value', message: `${property} must be a list of ${form}`, at: `[${at}]` };
  }
  const tags = (entries as readonly TagApproval[]).map(({ tag }) => tag.trim());
  const again = tags.findIndex((tag, index) => tags.indexOf(tag) < index);
  if (again === -1) return undefined;
  return { code: 'invalid_value', message: `${property} must name each tag once`, at: `[${again}]` };
}

function isTagApproval(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null) return false;
  const { tag, above, ...others } = entry as Readonly<Record<string, unknown>>;
  if (typeof tag !== 'string' || typeof above !== 'string' || Object.keys(others).length > 0) return false;
  return isTag(tag.trim()) && microsOf(above) !== undefined;
}

/** All thresholds by tag of an account; an empty list removes them. */
export const TagApprovalsField = () =>
  Field(
    [TagApproval],
    {
      optional: true,
      schema: { maxItems: MAX_TAG_APPROVALS },
      rule: tagApprovalsProblem,
      description: 'Replaces all of them. A request needs an approval above the lowest threshold that applies to it.',
    },
    IsArray(),
  );

/** In millionths, by tag. */
export function tagApprovals(entries: readonly TagApproval[]): ReadonlyMap<string, number> {
  return new Map(entries.map(({ tag, above }) => [tag.trim(), microsOf(above) ?? 0]));
}

/** As views show them: amounts in units of the currency, with six decimals. */
export function tagApprovalsView(byTag: Readonly<Record<string, number>>): TagApproval[] {
  return Object.entries(byTag).map(([tag, micros]) => ({ tag, above: decimalOf(micros) }));
}

/** As the audit log shows them. */
export function tagApprovalsText(byTag: ReadonlyMap<string, number>): string {
  return [...byTag].map(([tag, micros]) => `${tag}: ${decimalOf(micros)}`).join(', ') || 'none';
}
