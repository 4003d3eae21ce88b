import { ListField } from '#contract/field.js';
import type { FieldProblem } from '#contract/field-rule.js';
import { isTaskId } from '#tasks/row/task-id.js';

interface TaskIdsOptions {
  readonly max: number;
  readonly description: string;
  /** They must be named. */
  readonly required?: boolean;
}

/** A list of 1 to `max` ids of tasks, or, unless it is required, none. */
export function TaskIdsField({ max, description, required = false }: TaskIdsOptions): PropertyDecorator {
  const rule = (value: unknown, property: string): FieldProblem | undefined => {
    const ids: readonly unknown[] = Array.isArray(value) ? value : [];
    if (ids.length > max) {
      return { code: 'array_above_max_length', message: `${property} must have at most ${max} entries` };
    }
    if (ids.length > 0 && ids.every((id) => typeof id === 'string' && isTaskId(id))) return undefined;
    return { code: 'invalid_value', message: `${property} must be task IDs` };
  };
  return ListField(String, { optional: !required, schema: { maxItems: max }, description, rule });
}
