import type { FieldProblem } from './field-rule.js';

/**
 * A field that a model's catalog entry allows although the API does not know it: its type and bounds. Numbers have
 * both bounds; texts have a list or a longest length, in characters.
 */
export interface ExtraField {
  readonly type: 'integer' | 'number' | 'string' | 'boolean';
  readonly min?: number;
  readonly max?: number;
  readonly enum?: readonly string[];
  readonly max_length?: number;
}

/** Pattern of their names. */
export const EXTRA_NAME = '^[a-z][a-z0-9_]{0,63}$';

/** The extra fields of a request, by name. */
export type ExtraValues = Readonly<Record<string, string | number | boolean>>;

/** Fields of requests, in any spelling that is understood: a catalog entry can't give them another meaning. */
export const KNOWN_FIELDS: readonly string[] = [
  ...['model', 'prompt', 'n', 'size', 'resolution', 'quality', 'background', 'moderation', 'response_format'],
  ...['output_format', 'output_compression', 'input_fidelity', 'complexity', 'frame_count', 'frame_duration_ms'],
  ...['user', 'safety_identifier', 'stream', 'partial_images', 'strict', 'callback_url', 'svg', 'markup', 'dry_run'],
  ...['tags', 'store', 'expires_after'],
  ...['image', 'images', 'image_urls', 'mask', 'width', 'height', 'aspect_ratio', 'image_size', 'num_images'],
];

/** Why the entry does not allow this value. */
export function extraProblem(field: ExtraField, name: string, value: unknown): FieldProblem | undefined {
  const isType = field.type === 'integer' ? Number.isInteger(value) : typeof value === field.type;
  if (!isType) return { code: 'invalid_type', message: `${name} must be ${TYPES[field.type]}` };
  if (typeof value === 'number') return numberProblem(field, name, value);
  if (typeof value !== 'string') return undefined;
  if (field.enum !== undefined && !field.enum.includes(value))
    return { code: 'invalid_value', message: `${name} must be one of ${field.enum.join(', ')}` };
  if (field.max_length !== undefined && value.length > field.max_length)
    return { code: 'string_above_max_length', message: `${name} must be at most ${field.max_length} characters long` };
  if (value.includes('\u0000')) return { code: 'invalid_value', message: `${name} must not contain the NUL character` };
  return undefined;
}

const TYPES = { integer: 'an integer', number: 'a number', string: 'a string', boolean: 'true or false' } as const;

function numberProblem({ type, min, max }: ExtraField, name: string, value: number): FieldProblem | undefined {
  const isInteger = type === 'integer';
  if (min !== undefined && value < min)
    return {
      code: isInteger ? 'integer_below_min_value' : 'invalid_value',
      message: `${name} must be at least ${min}`,
    };
  if (max !== undefined && value > max)
    return { code: isInteger ? 'integer_above_max_value' : 'invalid_value', message: `${name} must be at most ${max}` };
  return undefined;
}

/** A form's text as a value of the field's type, if it is one; otherwise the text, which then has a problem. */
export function extraFromText({ type }: ExtraField, text: string): unknown {
  if (type === 'boolean' && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  if (type !== 'string' && /^-?\d{1,15}(\.\d{1,15})?$/.test(text)) return Number(text);
  return text;
}
