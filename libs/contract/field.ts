import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import {
  IsArray,
  IsBoolean,
  IsDefined,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  Max,
  Min,
} from 'class-validator';
import { Rule, type FindProblem } from './field-rule.js';
import { textProblem } from './text-rules.js';

type Shown = ApiPropertyOptions & { readonly type: unknown };

/** What a field of any type may say. */
export interface FieldOptions {
  /** May be absent or null. */
  readonly optional?: boolean;
  /** Documents that null means something else than an absent field; every optional field accepts both. */
  readonly nullable?: boolean;
  /** Documents what `rule` checks. */
  readonly schema?: Omit<Shown, 'type' | 'required'>;
  readonly default?: string | number | boolean;
  readonly example?: string;
  readonly description?: string;
  /** A check that the type of the field does not make. */
  readonly rule?: FindProblem;
}

/** Says refusals in the words of class-validator, as the console's first fields do. */
interface Wording {
  readonly wording?: 'library';
}

interface Bounds extends Wording {
  readonly min?: number;
  readonly max?: number;
}

/**
 * A field of a body: what OpenAPI shows of it, and what is checked. Takes any type; the decorators below are the usual
 * ones.
 */
export function Field(type: Shown['type'], options: FieldOptions, ...checks: PropertyDecorator[]): PropertyDecorator {
  const { optional = false, nullable, schema, default: usual, example, description, rule } = options;
  // OpenAPI shows them in this order.
  const shown = { type, nullable, ...schema, default: usual, example, description };
  return all(
    ApiProperty((optional ? { ...shown, required: false } : shown) as ApiPropertyOptions),
    optional ? IsOptional() : IsDefined(),
    ...checks,
    ...(rule === undefined ? [] : [Rule(rule)]),
  );
}

interface TextOptions extends FieldOptions {
  readonly choices?: readonly string[];
  readonly notEmpty?: boolean;
  /** In Unicode code points. */
  readonly maxLength?: number;
}

/** A text. */
export function TextField({ choices, notEmpty = false, maxLength, ...options }: TextOptions = {}): PropertyDecorator {
  const schema = {
    ...(choices && { enum: [...choices] }),
    ...(notEmpty && { minLength: 1 }),
    ...(maxLength !== undefined && { maxLength }),
    ...options.schema,
  };
  return Field(
    String,
    { ...options, schema },
    IsString(),
    ...(choices ? [OneOf(choices)] : []),
    ...(notEmpty ? [IsNotEmpty()] : []),
    ...(maxLength === undefined ? [] : [Rule((value, property) => textProblem(value, property, maxLength))]),
  );
}

/** One of a few texts. A value of another type is refused as a wrong text, not as a wrong type. */
export function ChoiceField(choices: readonly string[], options: FieldOptions & Wording = {}): PropertyDecorator {
  const check = options.wording === 'library' ? IsIn([...choices]) : OneOf(choices);
  return Field(String, { ...options, schema: { enum: [...choices] } }, check);
}

interface ChoicesOptions extends FieldOptions {
  readonly notEmpty?: boolean;
}

/** A list of such texts. */
export function ChoicesField(choices: readonly string[], options: ChoicesOptions = {}): PropertyDecorator {
  const { notEmpty = false, ...field } = options;
  const allowed: readonly unknown[] = choices;
  const rule: FindProblem = (value, property) => {
    if (!Array.isArray(value)) return undefined;
    if (value.every((choice) => allowed.includes(choice)) && (value.length > 0 || !notEmpty)) return undefined;
    return { code: 'invalid_value', message: `${property} must contain only ${choices.join(', ')}` };
  };
  return Field([String], { ...field, schema: { enum: [...choices] }, rule }, IsArray());
}

/** An integer, within bounds. */
export function IntegerField({ min, max, wording, ...options }: FieldOptions & Bounds = {}): PropertyDecorator {
  const bounds = { ...(min !== undefined && { min }), ...(max !== undefined && { max }), ...(wording && { wording }) };
  const schema = { ...(min !== undefined && { minimum: min }), ...(max !== undefined && { maximum: max }) };
  return Field('integer', { ...options, schema }, Integer(bounds));
}

/** A list of texts or numbers; `rule` or further checks look at its entries. */
export function ListField(
  of: typeof String | typeof Number,
  options: FieldOptions,
  ...checks: PropertyDecorator[]
): PropertyDecorator {
  return Field([of], options, IsArray(), ...checks);
}

/** True or false. */
export function FlagField(options: FieldOptions = {}): PropertyDecorator {
  return Field(Boolean, options, IsBoolean());
}

/** An object with any fields. */
export function ObjectField(options: FieldOptions): PropertyDecorator {
  return Field('object', { ...options, schema: { additionalProperties: true } }, IsObject());
}

/** Checks that a value is one of a few; for fields that are documented elsewhere. */
export function OneOf(values: readonly string[]): PropertyDecorator {
  return IsIn([...values], { message: `$property must be one of ${values.join(', ')}` });
}

/** Checks that a value is an integer within bounds; for fields that are documented elsewhere. */
export function Integer({ min, max, wording }: Bounds): PropertyDecorator {
  const own = (message: string) => (wording === 'library' ? {} : { message });
  return all(
    IsInt(),
    ...(min === undefined ? [] : [Min(min, own(`$property must be at least ${min}`))]),
    ...(max === undefined ? [] : [Max(max, own(`$property must be at most ${max}`))]),
  );
}

function all(...decorators: readonly PropertyDecorator[]): PropertyDecorator {
  return (target, property) => {
    for (const decorate of decorators) decorate(target, property);
  };
}
