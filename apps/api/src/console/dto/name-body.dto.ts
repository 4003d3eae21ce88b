import { TextField, type FieldOptions } from '#contract/field.js';
import type { FieldProblem } from '#contract/field-rule.js';
import { VISIBLE_NAME } from '#contract/text-rules.js';

/** The name of a key, a user, or an account. */
export const NameField = (options: FieldOptions = {}) => TextField({ ...options, rule: nameProblem });

function nameProblem(value: unknown, property: string): FieldProblem | undefined {
  if (typeof value === 'string' && VISIBLE_NAME.test(value)) return undefined;
  return { code: 'invalid_value', message: `${property} must have 1 to 100 visible characters` };
}

/** A new name of a user or an account. */
export class NameBody {
  @NameField()
  name!: string;
}
