import { TextField } from '#contract/field.js';

const MAX_REASON = 500;

/** Why a request is not approved; its caller reads it in the error of the task. */
export class RejectBody {
  @TextField({
    optional: true,
    nullable: true,
    notEmpty: true,
    maxLength: MAX_REASON,
    example: 'Use the cheaper model.',
  })
  reason?: string | null;
}
