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

/** The keywords of a schema besides its type. */
type Keywords = Omit<ApiPropertyOptions, 'type' | 'required'>;

/** What a field of any type may say. */
export interface FieldOptions {
  /** May be absent or null. */
  readonly optional?: boolean;
  /** Documents that null means something else than an absent field; every optional field accepts both. */
  readonly nullable?: boolean;
  /** Documents what `rule` checks. */
  readonly schema?: { readonly [Keyword in keyof Keywords]?: Keywords[Keyword] | undefined };
  readonly default?: string | number | boolean;
  readonly example?: string;
  readonly description?: string;
  /** A check that the type of the field does not make. */
  readonly rule?: FindProblem;
}

interface Wording {
  /** Refuses values in the words of class-validator, which some fields of the console have always used. */
  readonly wording?: 'library' | undefined;
}

interface Bounds extends Wording {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/**
 * A field of a body: what OpenAPI shows of it, and what is checked. Takes any type; the decorators below are the usual
 * ones.
 */
export function Field(
  type: ApiPropertyOptions['type'],
  options: FieldOptions,
  ...checks: PropertyDecorator[]
): PropertyDecorator {
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
  readonly notEmpty?: boolean;
  /** In Unicode code points. */
  readonly maxLength?: number;
}

/** A text. */
export function TextField({ notEmpty = false, maxLength, ...options }: TextOptions = {}): PropertyDecorator {
  const schema = {
    ...(notEmpty && { minLength: 1 }),
    ...(maxLength !== undefined && { maxLength }),
    ...options.schema,
  };
  return Field(
    String,
    { ...options, schema },
    IsString(),
    ...(notEmpty ? [IsNotEmpty()] : []),
    ...(maxLength === undefined ? [] : [Rule((value, property) => textProblem(value, property, maxLength))]),
  );
}

interface ChoiceOptions extends FieldOptions, Wording {
  /** Refuses a value that is no text as one of the wrong type; otherwise it is only a wrong choice. */
  readonly typed?: boolean;
}

/** One of a few texts. */
export function ChoiceField(choices: readonly string[], options: ChoiceOptions = {}): PropertyDecorator {
  const { typed = false, wording, ...field } = options;
  const isChoice = wording === 'library' ? IsIn([...choices]) : OneOf(choices);
  return Field(String, { ...field, schema: { enum: [...choices] } }, ...(typed ? [IsString(), isChoice] : [isChoice]));
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
  return Field('integer', { ...options, schema: { minimum: min, maximum: max } }, Integer({ min, max, wording }));
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
