import { ApiPropertyOptional } from '@nestjs/swagger';
import type { FieldProblem } from './field-rule.js';
import type { SvgAuthor } from './image-options.js';

const MODEL = /^[\w.:/-]{1,100}$/;
const EFFORT = /^[a-z]{1,16}$/;

class ReasoningField {
  @ApiPropertyOptional({ type: String, pattern: EFFORT.source, description: 'Such as `low`, `medium`, or `high`.' })
  effort?: string;
}

/** The `svg` field of image requests. */
export class SvgAuthorField implements SvgAuthor {
  @ApiPropertyOptional({ type: String, pattern: MODEL.source, description: 'Model that writes the document.' })
  model?: string;

  @ApiPropertyOptional({ type: ReasoningField })
  reasoning?: ReasoningField;
}

/** What is wrong with the value of `svg`. */
export function svgAuthorProblem(value: unknown, name: string): FieldProblem | undefined {
  return (
    unknownMember(value, name, ['model', 'reasoning']) ??
    textProblem(value, name, 'model', MODEL) ??
    nested(value, name)
  );
}

function nested(value: unknown, name: string): FieldProblem | undefined {
  const { reasoning } = value as { reasoning?: unknown };
  if (reasoning === undefined || reasoning === null) return undefined;
  const path = `${name}.reasoning`;
  return unknownMember(reasoning, path, ['effort']) ?? textProblem(reasoning, path, 'effort', EFFORT);
}

function unknownMember(value: unknown, name: string, known: readonly string[]): FieldProblem | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { code: 'invalid_type', message: `${name} must be an object` };
  if (Object.keys(value).every((member) => known.includes(member))) return undefined;
  return { code: 'unsupported_parameter', message: `${name} may only have ${known.join(' and ')}` };
}

function textProblem(value: unknown, name: string, member: string, form: RegExp): FieldProblem | undefined {
  const text = (value as Record<string, unknown>)[member];
  if (text === undefined || text === null) return undefined;
  if (typeof text !== 'string') return { code: 'invalid_type', message: `${name}.${member} must be a string` };
  return form.test(text) ? undefined : { code: 'invalid_value', message: `${name}.${member} is not a valid name` };
}

/** A valid value without empty members; null when nothing is left. */
export function svgAuthor({ model, reasoning }: SvgAuthorField = {}): SvgAuthor | null {
  const effort = reasoning?.effort;
  const author = { ...(model && { model }), ...(effort && { reasoning: { effort } }) };
  return Object.keys(author).length === 0 ? null : author;
}

/** A form sends the members as `svg[model]` and `svg[reasoning][effort]`. */
export function svgOfForm(values: Record<string, unknown>): void {
  const { 'svg[model]': model, 'svg[reasoning][effort]': effort } = values;
  if (model === undefined && effort === undefined) return;
  delete values['svg[model]'];
  delete values['svg[reasoning][effort]'];
  values['svg'] = { ...(model !== undefined && { model }), ...(effort !== undefined && { reasoning: { effort } }) };
}
