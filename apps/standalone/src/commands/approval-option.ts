import type { Option } from 'commander';
import { decimalOf } from '#contract/money.js';
import { amountOption } from './budget-options.js';

/** The value of the option, in millionths; undefined = not given. */
export interface ApprovalOption {
  readonly approveAbove?: number | 'none';
}

/** What a request may cost without an approval. */
export function approvalOption(): Option {
  return amountOption('--approve-above <amount>', 'what a request may cost without an approval; none = any amount');
}

/** The threshold as its column has it; nothing when the option was not given. */
export function approvalSetting({ approveAbove }: ApprovalOption): { readonly approveAboveMicros?: number | null } {
  if (approveAbove === undefined) return {};
  return { approveAboveMicros: approveAbove === 'none' ? null : approveAbove };
}

/** The same, named as in the console's audit log. */
export function approvalChanges(option: ApprovalOption): { readonly approve_above?: string | null } {
  const { approveAboveMicros: micros } = approvalSetting(option);
  if (micros === undefined) return {};
  return { approve_above: micros === null ? null : decimalOf(micros) };
}

/** `; requests above 0.500000 need an approval`, or nothing. */
export function approvalText(micros: number | null): string {
  return micros === null ? '' : `; requests above ${decimalOf(micros)} need an approval`;
}
